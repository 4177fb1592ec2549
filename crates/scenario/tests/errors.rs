//! What is wrong with a scenario is said at the place where it is wrong, whatever the file looks like.

use bentpipe_scenario::{Override, Scenario, ScenarioError, library};
use proptest::prelude::*;

const SMALL: &str = r#"
name = "small"
description = "a = b, [c], {d = 1}"
nodes = ["one", "two"]

[links.wire]
between = ["one", "two"]
delay = "5 ms"

[flows.file]
from = "one"
to = "two"
size = "10 kB"
"#;

fn refused(text: &str) -> ScenarioError {
    Scenario::parse("test.toml", text).expect_err(text)
}

/// The place that an error names, as it is printed.
fn place(error: &ScenarioError) -> (Option<usize>, &str) {
    (error.line, error.key.as_deref().expect("a key"))
}

fn changed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("test.toml", SMALL).expect("a scenario").with(&changes)
}

#[test]
fn a_key_is_named_in_tables_of_every_form() {
    // After the lines of SMALL without its last tables: the first new line is number 6.
    let head = &SMALL[..SMALL.find("[links").expect("links")];
    for (text, line, key) in [
        ("links.wire.dealy = \"5 ms\"", 6, "links.wire.dealy"),
        ("links = { wire = { dealy = \"5 ms\" } }", 6, "links.wire.dealy"),
        ("links = {\n wire = {\n  dealy = \"5 ms\",\n } }", 8, "links.wire.dealy"),
        ("[links]\nwire.between = [\"one\", \"two\"]\nwire.dealy = 5", 8, "links.wire.dealy"),
        ("[links.\"wire\"]\n\"dealy\" = 5", 7, "links.wire.dealy"),
        (
            "[links.wire]\nscript = [\n { kind = [], nth = 1 },\n { nht = 1 },\n]",
            9,
            "links.wire.script.1.nht",
        ),
        (
            "[[links.wire.script]]\nkind = []\nnth = 1\n[[links.wire.script]]\nnht = 1",
            10,
            "links.wire.script.1.nht",
        ),
        ("[links.wire]\nblackouts = [{ at = \"1 s\" }]", 7, "links.wire.blackouts.0.lasts"),
        ("[links.wire]\nfades = [{ at = \"1 s\", lasts = \"1 s\" }]", 7, "links.wire.fades.0.rate"),
        ("[links.wire.forward]\nloss = 2.0", 7, "links.wire.forward.loss"),
        ("[links.wire]\nbetween = [\n  \"one\",\n  2,\n]", 9, "links.wire.between.1"),
    ] {
        let error = refused(&format!("{head}{text}\n"));
        assert_eq!(place(&error), (Some(line), key), "{text}: {error}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_where_it_stands_in_a_list_of_rules() {
    let rules =
        "script = [\n  { kind = [\"data\"], nth = 1 },\n  { kind = [\"poll\"], nth = 0 },\n]";
    let text = SMALL.replace("delay = \"5 ms\"", rules);
    assert_eq!(place(&refused(&text)), (Some(10), "links.wire.script.1.nth"));
    let text = SMALL.replace("delay = \"5 ms\"", &rules.replace("poll", "pol"));
    let error = refused(&text);
    assert_eq!(place(&error), (Some(10), "links.wire.script.1.kind"));
    assert!(error.message.ends_with("did you mean `poll`?"), "{error}");
}

#[test]
fn controller_parameters_are_checked_with_and_without_a_controller_and_at_either_end() {
    for (table, named) in [("xstp", false), ("xstp", true), ("receiver", false)] {
        let controller = if named { "controller = \"stp\"\n" } else { "" };
        let more =
            format!("[flows.file.{table}]\n{controller}controller_parameters = {{ x = 1.0 }}");
        let error = refused(&format!("{SMALL}{more}\n"));
        let key = format!("flows.file.{table}.controller_parameters.x");
        assert_eq!(place(&error), (Some(15 + usize::from(named)), &*key), "{error}");
    }
}

#[test]
fn settings_of_tcp_are_named_where_they_stand_at_either_end() {
    let tcp = |more: &str| {
        let text = SMALL.replace("size = \"10 kB\"", "size = \"10 kB\"\nprotocol = \"tcp\"");
        refused(&format!("{text}[flows.file.{more}\n"))
    };
    for (more, key) in [
        ("tcp]\nrecovry = \"sack\"", "flows.file.tcp.recovry"),
        ("tcp]\nrecovery = \"newrno\"", "flows.file.tcp.recovery"),
        ("tcp]\nmss = 10", "flows.file.tcp.mss"),
        ("tcp]\ncontroller = \"rneo\"", "flows.file.tcp.controller"),
        ("tcp]\ninitial_window = \"rfc1\"", "flows.file.tcp.initial_window"),
        ("tcp.receiver]\nack_every = 99", "flows.file.tcp.receiver.ack_every"),
    ] {
        let error = tcp(more);
        assert_eq!(place(&error), (Some(16), key), "{error}");
    }
    let error = tcp("tcp]\nrecovery = \"newrno\"");
    assert!(error.message.ends_with("did you mean `newreno`?"), "{error}");
}

#[test]
fn changes_that_fit_only_together_may_come_in_any_order() {
    let channel = "links.wire.xdeldrop={ good = { mean = \"1 s\", drop = 0, delay_min = \"1 ms\", \
                   delay_max = \"2 ms\" }, bad = { mean = \"1 s\", drop = 1, delay_min = \"1 ms\", \
                   delay_max = \"2 ms\" } }";
    let min = "links.wire.xdeldrop.good.delay_min=30 ms";
    let max = "links.wire.xdeldrop.good.delay_max=40 ms";
    changed(&[channel, min, max]).expect("the shorter delay first");
    changed(&[channel, max, min]).expect("the longer delay first");
    let error = changed(&[channel, min]).expect_err("shorter than the longer");
    assert_eq!(error.key.as_deref(), Some("links.wire.xdeldrop.good.delay_max"));
    assert!(error.source.contains(min), "{error}");
}

#[test]
fn the_change_that_is_to_blame_is_named_among_several() {
    let error = changed(&["seed=5", "flows.file.xstp.mss=0", "links.wire.delay=1s"]);
    let error = error.expect_err("no payload");
    assert_eq!(error.source, "--set flows.file.xstp.mss=0");
    assert_eq!(error.key.as_deref(), Some("flows.file.xstp.mss"));
}

#[test]
fn keys_of_the_last_release_are_read_and_told_of_and_errors_in_them_have_their_line() {
    let old = format!("{SMALL}\n[links.wire.forth]\nloss = 0.1\n[links.wire.back]\nloss = 0.2\n");
    let scenario = Scenario::parse("test.toml", &old).expect("old keys");
    assert_eq!(scenario.warnings().len(), 2, "{:?}", scenario.warnings());
    let links =
        |scenario: &Scenario| format!("{:?}", scenario.run_spec(None, false).expect("a run").links);
    let new =
        Scenario::parse("test.toml", &old.replace("forth", "forward").replace("back", "return"));
    let new = new.expect("new keys");
    assert_eq!((links(&scenario), new.warnings()), (links(&new), Vec::new()));
    let change = ["links.wire.return.loss=0.5".parse().expect("a change")];
    assert_eq!(
        links(&scenario.with(&change).expect("changed")),
        links(&new.with(&change).expect("changed"))
    );
    let queue = |name: &str| {
        let both =
            format!("rate = \"1 Mbit/s\"\nqueue = {{ discipline = \"{name}\" }}\n[flows.file]");
        let text = SMALL.replace("[flows.file]", &both);
        let scenario = Scenario::parse("test.toml", &text).expect(name);
        (
            format!("{:?}", scenario.run_spec(None, false).expect(name).macs),
            scenario.warnings().len(),
        )
    };
    for (old, new) in [
        ("acks-first", "ack-priority"),
        ("ack-spread", "ack-reconstruction"),
        ("low-first", "drop-low-priority"),
    ] {
        let ((one, told), (other, none)) = (queue(old), queue(new));
        assert_eq!((one, told, none), (other, 1, 0));
    }
    let wrong = refused(&old.replace("loss = 0.2", "queue = \"9 packets\""));
    assert_eq!(place(&wrong), (Some(18), "links.wire.return.queue"));
}

#[test]
fn the_idle_timeout_is_read_by_its_old_name_but_not_by_both() {
    let flow = |keys: &str| {
        let text = SMALL.replace("[flows.file]", "[flows.file]\nprotocol = \"bentpipe\"");
        format!("{text}\n[flows.file.bentpipe]\n{keys}\n")
    };
    let read = |keys: &str| Scenario::parse("test.toml", &flow(keys));
    let (old, new) = (read("patience = \"7 s\""), read("idle_timeout = \"7 s\""));
    let (old, new) = (old.expect("the old key"), new.expect("the new key"));
    assert_eq!(format!("{:?}", old.file()), format!("{:?}", new.file()));
    let warning = "test.toml: `flows.file.bentpipe.patience` is called `idle_timeout` now";
    assert_eq!((old.warnings(), new.warnings()), (vec![warning.to_owned()], Vec::new()));
    let both = read("patience = \"7 s\"\nidle_timeout = \"7 s\"").expect_err("both");
    assert!(both.message.contains("idle_timeout"), "{both}");
}

#[test]
fn the_discipline_of_a_scheduler_is_read_by_its_old_name() {
    let read = |key: &str| {
        let text =
            format!("{SMALL}\n[schedulers.fair]\nrate = \"1 Mbit/s\"\n{key} = \"weighted\"\n");
        Scenario::parse("test.toml", &text).expect(key)
    };
    let (old, new) = (read("turns"), read("discipline"));
    assert_eq!(format!("{:?}", old.file()), format!("{:?}", new.file()));
    let warning = "test.toml: `schedulers.fair.turns` is called `discipline` now";
    assert_eq!((old.warnings(), new.warnings()), (vec![warning.to_owned()], Vec::new()));
}

#[test]
fn parameters_of_controllers_are_read_by_their_old_names_but_not_by_both() {
    let read = |parameters: &str| {
        let tcp = "protocol = \"tcp\"\ntcp.controller = \"cubic\"\ntcp.controller_parameters = ";
        let flow = format!("[flows.file]\n{tcp}{{ {parameters} }}");
        Scenario::parse("test.toml", &SMALL.replace("[flows.file]", &flow))
    };
    let flows =
        |scenario: &Scenario| format!("{:?}", scenario.run_spec(None, false).unwrap().flows);
    for (old, new) in [("trial_start", "delay_probe_start"), ("carried", "floor_to_delivered")] {
        let [one, other] = [old, new].map(|name| read(&format!("{name} = 1")).expect(name));
        assert_eq!(flows(&one), flows(&other));
        let at = "flows.file.tcp.controller_parameters";
        let warning = format!("test.toml: `{at}.{old}` is called `{new}` now");
        assert_eq!((one.warnings(), other.warnings()), (vec![warning], Vec::new()));
        let both = read(&format!("{old} = 1, {new} = 1")).expect_err(old);
        assert_eq!(both.key, Some(format!("{at}.{new}")));
        assert!(both.message.contains("twice"), "{both}");
    }
}

#[test]
fn elements_of_lists_and_whole_new_tables_can_be_set() {
    let scenario = changed(&["nodes.1=zwei", "links.wire.between.1=zwei", "flows.file.to=zwei"]);
    assert_eq!(scenario.expect("another name").file().nodes, ["one", "zwei"]);
    let scenario = changed(&["links.second={ between = [\"two\", \"one\"] }"]);
    assert_eq!(scenario.expect("another link").file().links.len(), 2);
    let more = changed(&["links.second={ between = [\"two\", \"one\"] }", "links.second.dealy=1s"]);
    assert!(more.expect_err("no such key").message.ends_with("did you mean `delay`?"));
    assert!(changed(&["nodes.2=three"]).is_err());
    assert!(changed(&["links.third.delay=1 s"]).is_err());
}

#[test]
fn text_needs_no_quotes_and_toml_stays_toml() {
    let spec = |change| changed(&[change]).expect(change).run_spec(None, false).map(|s| s.seed);
    assert_eq!(spec("seed=7"), Ok(7));
    for change in ["links.wire.delay=9ms", "links.wire.delay=\"9 ms\"", "links.wire.delay='9 ms'"] {
        let scenario = changed(&[change]).expect(change);
        let delay = scenario.file().links["wire"].delay.expect("a delay").0;
        assert_eq!(delay.to_string(), "9 ms", "{change}");
    }
}

proptest! {
    /// One piece of a right file is replaced by something else.
    #[test]
    fn a_broken_file_is_read_or_refused_at_a_line_that_exists(
        which in 0..library::scenarios().count(),
        at in any::<prop::sample::Index>(),
        length in 0..12usize,
        text in prop_oneof![
            Just(String::new()),
            "[ \"'=,.\\[\\]{}#\\\\\n]{1,3}",
            "[a-zäß€🛰0-9_]{1,6}",
            Just("nan".to_owned()),
            Just("-1".to_owned()),
            Just("99999999999999999999 h".to_owned()),
        ],
    ) {
        let right = library::scenarios().nth(which).expect("a scenario").1;
        let places: Vec<usize> = right.char_indices().map(|(n, _)| n).collect();
        let from = at.index(places.len());
        let to = (from + length).min(places.len() - 1);
        let wrong = format!("{}{text}{}", &right[..places[from]], &right[places[to]..]);
        if let Err(error) = Scenario::parse("test.toml", &wrong) {
            let lines = wrong.lines().count().max(1);
            prop_assert!(error.line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{error}");
            prop_assert!(error.line.is_some() || error.key.is_some(), "{error}");
            prop_assert!(!error.message.is_empty());
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn any_change_of_a_value_is_taken_or_refused_without_a_panic(
        key in "(name|seed|nodes|links|flows|wire|file|delay|xstp|0|1|[a-z.é]{1,4})(\\.[a-z0-9]{1,5}){0,3}",
        value in "[ -~é\n]{0,12}",
    ) {
        if let Ok(change) = format!("{key}={value}").parse::<Override>() {
            let scenario = Scenario::parse("test.toml", SMALL).expect("a scenario");
            if let Err(error) = scenario.with(&[change]) {
                prop_assert!(error.source.starts_with("--set "), "{error}");
            }
        }
    }
}

#[test]
fn fades_come_one_after_another_on_a_line_that_has_a_rate() {
    let fade = |at: &str, lasts: &str| {
        format!("{{ at = \"{at}\", lasts = \"{lasts}\", rate = \"1 Mbit/s\" }}")
    };
    for (table, key) in [
        (
            format!(
                "rate = \"2 Mbit/s\"\nfades = [{}, {}]",
                fade("1 s", "2 s"),
                fade("2 s", "1 s")
            ),
            "1.at",
        ),
        (format!("rate = \"2 Mbit/s\"\nfades = [{}]", fade("1 s", "0 s")), "0.lasts"),
    ] {
        let error = refused(&SMALL.replace("delay = \"5 ms\"", &table));
        assert_eq!(error.key, Some(format!("links.wire.fades.{key}")), "{error}");
    }
    for table in ["", "rate = \"2 Mbit/s\"\nqueue = \"red\"\n"] {
        let table = format!("{table}fades = [{}]", fade("1 s", "1 s"));
        let error = refused(&SMALL.replace("delay = \"5 ms\"", &table));
        assert_eq!(error.key.as_deref(), Some("links.wire.fades"), "{error}");
    }
    let right =
        format!("rate = \"2 Mbit/s\"\nfades = [{}, {}]", fade("1 s", "1 s"), fade("2 s", "1 s"));
    Scenario::parse("test.toml", &SMALL.replace("delay = \"5 ms\"", &right)).expect("a scenario");
}

#[test]
fn gateways_have_a_controller_that_there_is_and_none_where_they_know_a_rate() {
    let text = library::scenario("gateway-geo").expect("a scenario");
    let geo = Scenario::parse("gateway-geo", text).expect("a scenario");
    let with = |changes: &[&str]| {
        let changes = changes.iter().map(|change| change.parse().expect("a change"));
        geo.with(&changes.collect::<Vec<Override>>())
    };
    assert!(with(&["gateway.controller=bbr3"]).is_ok());
    let rates = ["gateway.hub.rate=10 Mbit/s", "gateway.terminal.rate=10 Mbit/s"];
    for (changes, said) in [
        (vec!["gateway.controller=steadi"], "did you mean `steady`?"),
        ([&rates[..], &["gateway.controller=bbr3"]].concat(), "know a rate"),
    ] {
        let error = with(&changes).expect_err(said);
        assert_eq!(error.key.as_deref(), Some("gateway.controller"), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_key_of_tables_without_end_is_refused_and_takes_no_stack() {
    for parts in [33, 20_000] {
        let change = format!("{}b=1", "a.".repeat(parts));
        let error = changed(&[&change]).expect_err("refused").to_string();
        assert!(error.contains("a key of more than 32 parts: `a.a."), "{error}");
    }
}
