//! `bentpipe sweep`: a row for each of many runs; and `bentpipe merge`.

use std::io::Write;
use std::path::Path;

use bentpipe_experiments::sweep::file::{FileError, SweepFile};
use bentpipe_experiments::sweep::{self, Shard, Varied};
use bentpipe_scenario::Scenario;

use crate::args::sim::{Merge, Sweep};
use crate::commands::sim::changed;
use crate::failure::Failure;
use crate::output::sim::{progress::Bar, table::thousands};

/// Runs what is missing in the file of a sweep.
pub(crate) fn sweep(args: &Sweep) -> Result<(), Failure> {
    is_parquet(&args.out)?;
    let scenario = changed(&Scenario::open(&args.scenario)?, &args.overrides)?;
    let varied = Varied {
        axes: args.vary.clone(),
        variants: args.variants.clone(),
        seeds: args.seeds.clone(),
        flows: args.flow.clone(),
    };
    let jobs = args.jobs.map(usize::from);
    let sweep = sweep::Sweep::new(scenario, varied)?;
    sweep.check(jobs)?;
    let file =
        SweepFile::open(&sweep, args.shard.unwrap_or(Shard::WHOLE), &args.out, args.replace)?;
    let bar = Bar::new();
    let done = file.run(jobs, &bar)?;
    bar.finish();
    let mut out = anstream::stdout().lock();
    let (rows, new) = (count(done.rows), count(done.run));
    writeln!(out, "{}: {rows} rows, {new} of them run now", args.out.display())?;
    Ok(())
}

/// Whoever names the file after another format expects that.
fn is_parquet(out: &Path) -> Result<(), Failure> {
    let Some(extension) =
        out.extension().filter(|extension| !extension.eq_ignore_ascii_case("parquet"))
    else {
        return Ok(());
    };
    let (is, named) = (extension.display(), out.with_extension("parquet"));
    let (named, out) = (named.display(), out.display());
    Err(Failure::Input(format!(
        "--out {out}: a sweep writes Parquet, not {is}: name it {named}; `bentpipe merge {named} --out FILE.csv` makes a table of text of it"
    )))
}

/// Puts results of shards together.
pub(crate) fn merge(args: &Merge) -> Result<(), Failure> {
    let merged = sweep::merge(&args.files, &args.out, args.partial)?;
    let mut out = anstream::stdout().lock();
    let (rows, total) = (count(merged.rows), count(merged.total));
    writeln!(out, "{}: {rows} of {total} rows", args.out.display())?;
    Ok(())
}

fn count(rows: u64) -> String {
    thousands(rows as f64, 0)
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Scenario(error) => error.into(),
            error @ FileError::Taken { .. } => Self::Input(error.to_string()),
            error @ FileError::Disk { .. } => Self::System(error.to_string()),
        }
    }
}
