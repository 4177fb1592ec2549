//! Links in rain.

use std::path::Path;

use bentpipe_record::RunSummary;
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

const CLIMATE: &str = "frequency = \"20 GHz\"\nelevation = \"37 deg\"\nlatitude = \"45 deg\"\nrain_rate = \"40 mm/h\"\n\
                       clear_sky = \"15 dB\"";

/// A link of 10 Mbit/s with rain, and other keys of it.
fn scenario(keys: &str, rain: &str) -> String {
    format!(
        "name = \"rainy\"\nduration = \"30 s\"\nnodes = [\"a\", \"b\"]\n\n[links.space]\n\
         between = [\"a\", \"b\"]\n{keys}\n\n{rain}\n\n[flows.file]\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\n"
    )
}

const LINE: &str = "rate = \"10 Mbit/s\"\nqueue = \"100 kB\"\ndelay = \"20 ms\"";

fn outcome(dir: &Path, keys: &str, rain: &str) -> Result<RunSummary, ScenarioError> {
    let source = dir.join("rainy.toml");
    let scenario = Scenario::parse(&source.to_string_lossy(), &scenario(keys, rain))?;
    Ok(run(&scenario.run_spec(None, false)?, &mut Silent).expect("a run"))
}

/// What arrived in Mbit/s.
fn goodput(dir: &Path, rain: &str) -> f64 {
    let summary = outcome(dir, LINE, rain).unwrap_or_else(|error| panic!("{error}"));
    summary.flows[0].delivered_bytes as f64 * 8.0 / 30e6
}

fn refused(keys: &str, rain: &str) -> ScenarioError {
    let dir = tempfile::tempdir().expect("a directory");
    outcome(dir.path(), keys, rain).expect_err(rain)
}

#[test]
fn a_file_of_attenuation_slows_the_line_down() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("clear.csv"), "time_s,attenuation_db\n0,0\n").expect("written");
    // 15 dB less 6.5 dB carry 8PSK 2/3 with 1 dB of margin, where 32APSK 4/5 was: half the rate.
    std::fs::write(dir.path().join("storm.csv"), "time_s,attenuation_db\n0,6.5\n")
        .expect("written");
    let rain =
        |file: &str| format!("[links.space.rain]\nclear_sky = \"15 dB\"\nattenuation = {file}");
    let clear = goodput(dir.path(), &rain("\"clear.csv\""));
    assert!((9.0..9.7).contains(&clear), "{clear}");
    let storm = goodput(dir.path(), &rain("\"storm.csv\""));
    assert!((0.45..0.55).contains(&(storm / clear)), "{storm} of {clear}");
    let scaled = goodput(dir.path(), &rain("{ file = \"storm.csv\", scale = 0.1, loop = false }"));
    assert!((0.85..1.0).contains(&(scaled / clear)), "a step lower: {scaled} of {clear}");
}

#[test]
fn a_climate_gives_less_rain_the_more_often_it_is_exceeded() {
    let dir = tempfile::tempdir().expect("a directory");
    let part = |part: &str| {
        goodput(dir.path(), &format!("[links.space.rain]\n{CLIMATE}\nexceeded = \"{part}\""))
    };
    let (seldom, often) = (part("0.1 %"), part("3 %"));
    assert!(seldom > 0.5 && seldom < 0.8 * often && often > 8.0, "{seldom} {often}");
}

#[test]
fn a_direction_takes_from_the_link_what_it_leaves_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let rain = format!(
        "[links.space.rain]\n{CLIMATE}\nexceeded = \"0.1 %\"\n\n[links.space.return.rain]\nfrequency = \"30 GHz\"\nclear_sky = \"18 dB\""
    );
    assert!(outcome(dir.path(), LINE, &rain).is_ok());
    let one_way = format!("[links.space.return.rain]\n{CLIMATE}\nexceeded = \"0.1 %\"");
    assert!(goodput(dir.path(), &one_way) > 9.0, "it rains on the acknowledgements only");
    // Its own value is wrong, and that of the link is not.
    let error = refused(LINE, &rain.replace("30 GHz", "60 GHz"));
    assert_eq!(error.key.as_deref(), Some("links.space.return.rain.frequency"), "{error}");
    let error = refused(LINE, &rain.replace("37 deg", "3 deg"));
    assert_eq!(error.key.as_deref(), Some("links.space.rain.elevation"), "{error}");
}

#[test]
fn constant_coding_loses_where_adaptive_coding_is_slow() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(
        dir.path().join("storm.csv"),
        "time_s,attenuation_db\n0,0\n10,6.5\n12,0\n20,0\n",
    )
    .expect("written");
    let rain = "[links.space.rain]\nclear_sky = \"15 dB\"\nattenuation = \"storm.csv\"";
    let lost = |rain: &str| {
        let summary = outcome(dir.path(), LINE, rain).expect("a run");
        summary.links.iter().map(|link| link.lost_blackout + link.lost_channel).sum::<u64>()
    };
    assert!(lost(&format!("{rain}\nmodcod = \"16APSK 3/4\"")) > 20);
    assert_eq!(lost(&format!("{rain}\nacm = {{ delay = \"0 s\" }}")), 0);
    assert!(lost(rain) > 20, "40 ms of the wrong modulation");
}

#[test]
fn the_same_seed_has_the_same_rain() {
    let text = scenario(LINE, &format!("[links.space.rain]\n{CLIMATE}\nexceeded = \"0.1 %\""));
    let run_of = |seed| {
        let scenario = Scenario::parse("rainy.toml", &text).expect("a scenario");
        let spec = scenario.run_spec(Some(seed), false).expect("a run");
        run(&spec, &mut Silent).expect("a run").flows[0].delivered_bytes
    };
    assert_eq!(run_of(1), run_of(1));
    assert_ne!(run_of(1), run_of(2));
}

#[test]
fn what_is_no_rain_is_named_with_its_key() {
    let rain = |keys: &str| format!("[links.space.rain]\n{keys}");
    let climate = |keys: &str| rain(&format!("{CLIMATE}\n{keys}"));
    for (rain, key, said) in [
        (rain("attenuation = \"x.csv\""), "", "`clear_sky` is missing"),
        (rain("clear_sky = \"9 dB\""), "", "`frequency` is missing: rain has a file"),
        (
            rain("clear_sky = \"9 dB\"\nattenuation = \"missing.csv\""),
            ".attenuation.file",
            "missing.csv: No such file",
        ),
        (climate("attenuation = \"x.csv\""), ".frequency", "leave one out"),
        (climate("modcod = \"8PSK 3/5\"\nacm = {}"), ".modcod", "leave it or `acm` out"),
        (climate("modcod = \"8PSK 3/6\""), ".modcod", "did you mean `8PSK 3/4`?"),
        (climate("modcod = \"32APSK 9/10\""), ".clear_sky", "32APSK 9/10 needs 16.05 dB"),
        (climate("acm = { modcods = [] }"), ".acm.modcods", "none to choose from"),
        (climate("acm = { margin = \"21 dB\" }"), ".acm.margin", "0 to 20 dB"),
        (climate("exceeded = \"6 %\""), ".exceeded", "0.001 to 5 %"),
        (climate("step = \"1 ms\""), ".step", "10 ms"),
        (climate("station_height = \"5 km\""), ".station_height", "below the rain height"),
        (climate("polarization = \"oval\""), ".polarization", "horizontal"),
        (climate("intensity = 3"), "", "unknown field `intensity`"),
    ] {
        let error = refused(LINE, &rain);
        let key = format!("links.space.rain{key}");
        assert!(error.key.as_deref().is_some_and(|it| it.starts_with(&key)), "{rain}: {error}");
        assert!(error.to_string().contains(said), "{rain}: {error}");
    }
}

#[test]
fn rain_falls_on_lines_with_a_drop_tail_queue_only() {
    let rain = format!("[links.space.rain]\n{CLIMATE}");
    let fade = "fades = [{ at = \"1 s\", lasts = \"1 s\", rate = \"1 Mbit/s\" }]";
    for (keys, said) in [
        ("delay = \"20 ms\"".to_owned(), "only a line with a `rate`"),
        ("rate = \"1 Mbit/s\"\nqueue = \"codel\"".to_owned(), "only a line with a `rate`"),
        (format!("{LINE}\n{fade}"), "leave `fades` out"),
        ("trace = \"geo-rain\"".to_owned(), "the trace has a rate of its own"),
        (format!("{LINE}\ntrace = \"geo-rain\""), "the trace has a rate of its own"),
    ] {
        let error = refused(&keys, &rain);
        assert_eq!(error.key.as_deref(), Some("links.space.rain"), "{error}");
        assert!(error.to_string().contains(said), "{keys}: {error}");
    }
}

#[test]
fn the_scenario_of_the_gallery_is_slower_than_its_clear_sky() {
    let goodput = |change: &str| {
        let text = bentpipe_scenario::library::scenario("ka-rain").expect("it is there");
        let scenario = Scenario::parse("ka-rain", text).expect("a scenario");
        let change: Override = change.parse().expect("a change");
        let short: Override = "duration=60 s".parse().expect("a change");
        let spec = scenario.with(&[change, short]).expect("changed").run_spec(None, false);
        let summary = run(&spec.expect("a run"), &mut Silent).expect("a run");
        summary.flows[0].delivered_bytes as f64 * 8.0 / 60e6
    };
    let rainy = goodput("links.satellite.rain.exceeded=0.1 %");
    let clear = goodput("links.satellite.rain.exceeded=5 %");
    assert!(rainy > 5.0 && rainy < 0.7 * clear && clear > 35.0, "{rainy} {clear}");
}

#[test]
fn both_directions_of_a_link_stand_in_one_rain() {
    for (own, key) in [
        ("step = \"10 s\"", "step"),
        ("exceeded = \"1 %\"", "exceeded"),
        ("rain_rate = \"9 mm/h\"", "rain_rate"),
    ] {
        let rain = format!("[links.space.rain]\n{CLIMATE}\n[links.space.return.rain]\n{own}");
        let said = refused(LINE, &rain).to_string();
        let key = format!("links.space.return.rain.{key}");
        assert!(said.contains(&key) && said.contains("both are in one rain"), "{said}");
    }
}
