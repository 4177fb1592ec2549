use bentpipe_units::{BitRate, Instant, Span};
use proptest::prelude::*;

use super::*;
use crate::trace::Rate;

/// Written by pandas 3 over pyarrow: times and rates as whole numbers and as numbers, delays of 32 bits, truths, with nulls.
const PANDAS: &[u8] = include_bytes!("../../tests/data/pandas.parquet");
/// The same with an index.
const PANDAS_INDEX: &[u8] = include_bytes!("../../tests/data/pandas-index.parquet");
/// Written by polars, which compresses with Zstandard: losses, and the state as whole numbers.
const POLARS: &[u8] = include_bytes!("../../tests/data/polars.parquet");

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(trace, &mut out).expect("written");
    out
}

#[test]
fn what_pandas_and_polars_write_is_read() {
    for bytes in [PANDAS, PANDAS_INDEX] {
        let trace = crate::read("own.parquet", bytes).expect("a trace");
        let mbit = BitRate::from_bps(1_000_000);
        assert_eq!(trace.rate, Some(Rate::Steps(vec![(at(0), Some(mbit)), (at(13_000), None)])));
        let delay = trace.delay.expect("delays");
        assert!((delay[0].1.as_secs_f64() - 0.018).abs() < 1e-8, "32 bits: {delay:?}");
        assert_eq!(trace.up, Some(vec![(at(0), true), (at(13_000), false)]));
        assert_eq!((trace.loss, trace.length), (None, Span::from_secs(14)));
    }
    let trace = crate::read("own.parquet", POLARS).expect("a trace");
    assert_eq!(trace.loss, Some(vec![(at(0), 0.01), (at(12_000), 0.02)]));
    assert_eq!(trace.up, Some(vec![(at(0), true), (at(12_500), false)]));
}

#[test]
fn what_is_written_is_read_again() {
    let text = "time_s,rate_bps,delay_s,loss,up\n0,1e6,0.018,0.01,1\n12,,,0.02,\n12.5,0,0.025,,0\n";
    let trace = crate::native::read("own.csv", text).expect("a trace");
    assert_eq!(read("again", &written(&trace)), Ok(trace));
}

/// A file with these columns of numbers.
fn file(columns: &[(&str, &[Option<f64>])]) -> Vec<u8> {
    let field = |name: &str| {
        let field = Type::primitive_type_builder(name, Physical::DOUBLE);
        Arc::new(field.with_repetition(Repetition::OPTIONAL).build().expect("a field"))
    };
    let fields = columns.iter().map(|(name, _)| field(name)).collect();
    let schema = Type::group_type_builder("any").with_fields(fields).build().expect("a schema");
    let mut out = Vec::new();
    let writer = SerializedFileWriter::new(&mut out, Arc::new(schema), Arc::default());
    let mut writer = writer.expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    for (_, cells) in columns {
        write_column::<DoubleType, _>(&mut group, cells.iter().copied(), false).expect("written");
    }
    group.close().expect("closed");
    writer.close().expect("closed");
    out
}

#[test]
fn what_is_no_trace_is_named_with_row_and_column() {
    let some = |values: &[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
    let (times, zeros) = (some(&[0.0, 1.0]), some(&[0.0, 0.0]));
    for (bytes, said) in [
        (file(&[("time_s", &times)]), "`time_s` alone tells nothing"),
        (file(&[("loss", &zeros)]), "the column `time_s` is missing"),
        (
            file(&[("time_s", &times), ("rate", &zeros)]),
            "there is no column `rate`; there are time_s",
        ),
        (file(&[("time_s", &zeros), ("loss", &zeros)]), "`time_s`: row 2: 0 s is not later"),
        (
            file(&[("time_s", &[Some(0.0), None]), ("loss", &zeros)]),
            "`time_s`: row 2: it is missing",
        ),
        (
            file(&[("time_s", &times), ("loss", &some(&[0.0, 1.5]))]),
            "`loss`: row 2: `1.5` is no number in 0..=1",
        ),
        (
            file(&[("time_s", &times), ("delay_s", &some(&[f64::NAN, 0.0]))]),
            "`delay_s`: row 1: `NaN` is no",
        ),
        (
            file(&[("time_s", &times), ("up", &some(&[1.0, 2.0]))]),
            "`up`: row 2: `2` is neither 1 nor 0",
        ),
        (file(&[("time_s", &times), ("rate_bps", &zeros)]), "`rate_bps` is nowhere above zero"),
        (file(&[("time_s", &[]), ("loss", &[])]), "it has no line"),
        (file(&[("time_s", &times), ("loss", &[None, None])]), "no line has a value besides"),
        (b"PAR1 and nothing else".to_vec(), "it is no Parquet"),
    ] {
        let error = read("own.parquet", &bytes).expect_err(said).to_string();
        assert!(error.starts_with("own.parquet") && error.contains(said), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_table_is_the_same_trace_as_csv_and_as_parquet(
        rows in prop::collection::vec(
            (1u32..100_000, prop::option::of(0.0f64..1e9), prop::option::of(0.0f64..60.0),
             prop::option::of(0.0f64..=1.0), prop::option::of(any::<bool>())),
            1..100,
        ),
    ) {
        let mut text = "time_s,rate_bps,delay_s,loss,up\n".to_owned();
        let mut ms = 0;
        for (gap, rate, delay, loss, up) in rows {
            ms += gap;
            let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let up = up.map_or("", |up| if up { "1" } else { "0" });
            let time = f64::from(ms) / 1000.0;
            text += &format!("{time},{},{},{},{up}\n", cell(rate), cell(delay), cell(loss));
        }
        if let Ok(trace) = crate::native::read("own.csv", &text) {
            let mut csv = Vec::new();
            crate::native::write(&trace, &mut csv).expect("written");
            let again = crate::read("own.csv", &csv).expect("a trace");
            prop_assert_eq!(crate::read("own.parquet", &written(&again)), Ok(again));
        }
    }
}

#[test]
fn a_file_with_any_byte_damaged_or_cut_anywhere_is_read_or_refused() {
    for bytes in [PANDAS, POLARS, PANDAS_INDEX] {
        for place in 0..bytes.len() {
            let _ = crate::read("own.parquet", &bytes[..place]);
            for flip in [1u8, 4, 16, 128, 255] {
                let mut damaged = bytes.to_vec();
                damaged[place] ^= flip;
                let _ = crate::read("own.parquet", &damaged);
            }
        }
    }
}
