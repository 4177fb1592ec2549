//! Many runs that somebody waits for: a comparison, or the figures of a paper.

mod asked;
mod waiting;

use bentpipe_experiments::compare::{
    CompareOptions, ComparedRun, Variant, compare, default_variants,
};
use bentpipe_experiments::experiment::{SweepOptions, find, run_all};
use bentpipe_record::{Comparison, Experiments};
use serde::Serialize;
use tokio::sync::mpsc;

pub(crate) use self::asked::Asked;
use self::waiting::Waiting;
use crate::answer::Wrong;
use crate::state::{Bounded, Shared, State};
use crate::talk::{Gone, Talk};

/// Seeds of each point of an experiment: all of its runs are planned at once.
const MOST_SEEDS: u64 = 100;
/// What waits for the page.
const WAITING: usize = 16;

/// What the page is told.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Told {
    /// So many runs are done, of so many.
    Progress {
        done: u64,
        total: u64,
    },
    Compared {
        comparison: Box<Comparison>,
        /// Every run behind it.
        runs: Vec<Run>,
        legend: Vec<Legend>,
        left_out: Vec<String>,
        /// Runs end at the longest time that is simulated here.
        cut: bool,
    },
    Reproduced {
        experiments: Box<Experiments>,
    },
}

/// A run of a comparison.
#[derive(Serialize)]
struct Run {
    variant: String,
    seed: u64,
    goodput: f64,
    queueing_delay: Option<f64>,
    connection_time: Option<f64>,
    retransmitted_segments: u64,
    complete: bool,
}

impl Run {
    fn of(run: &ComparedRun) -> Self {
        let measured = &run.measured;
        Self {
            variant: run.variant.clone(),
            seed: run.seed,
            goodput: measured.goodput,
            queueing_delay: measured.queueing_delay,
            connection_time: measured.connection_time,
            retransmitted_segments: measured.retransmitted_segments,
            complete: measured.complete,
        }
    }
}

/// What a variant is.
#[derive(Serialize)]
struct Legend {
    variant: String,
    summary: Option<String>,
}

/// Does what was asked, while somebody waits for it.
pub(crate) async fn session(mut talk: Talk, state: Shared) -> Result<(), Gone> {
    let asked: Asked = talk.asked().await?;
    let (told, mut facts) = mpsc::channel(WAITING);
    let shared = state.clone();
    let working = match state.places().work(move || work(&asked, &shared, &told)) {
        Ok(working) => working,
        Err(why) => return talk.refuse(Wrong::plain(why)).await,
    };
    loop {
        tokio::select! {
            // There is nothing to say to it: who does is broken, or gone.
            _ = talk.hear() => return Err(Gone),
            fact = facts.recv() => match fact {
                Some((done, total)) => talk.say(&Told::Progress { done, total }).await?,
                None => break,
            },
        }
    }
    match working.await {
        Ok(Ok(told)) => talk.end(&told).await,
        Ok(Err(wrong)) => talk.refuse(wrong).await,
        Err(_) => {
            talk.refuse(Wrong::plain("a run came to no end; please report this scenario")).await
        }
    }
}

fn work(asked: &Asked, state: &State, told: &mpsc::Sender<(u64, u64)>) -> Result<Told, Wrong> {
    let waiting = Waiting::new(told, state.limits().memory);
    let done = match asked {
        Asked::Compare { scenario, variants, reps } => {
            of_variants(state, &waiting, scenario, variants, *reps)
        }
        Asked::Reproduce { experiment, reps } => of_paper(&waiting, experiment, *reps),
    };
    match waiting.swollen() {
        Some(message) => Err(Wrong::plain(message)),
        None => done,
    }
}

fn of_variants(
    state: &State,
    waiting: &Waiting<'_>,
    scenario: &str,
    variants: &[String],
    reps: u64,
) -> Result<Told, Wrong> {
    let Bounded { scenario, is_cut } = state.scenario(scenario)?;
    let (variants, left_out) = match variants {
        [] => default_variants(&scenario, &[])?,
        named => {
            let read: Result<Vec<Variant>, String> =
                named.iter().map(|name| name.parse()).collect();
            (read.map_err(Wrong::plain)?, Vec::new())
        }
    };
    let (runs, most) = (reps.saturating_mul(variants.len() as u64), state.limits().runs);
    if runs > most {
        let count = variants.len();
        let message = format!("{count} variants with {reps} seeds are {runs} runs: at most {most}");
        return Err(Wrong::plain(message));
    }
    let seeds = (1..=reps.max(1)).collect();
    let options = CompareOptions { seeds, jobs: None, flows: Vec::new() };
    let compared = compare(&scenario, &variants, &options, waiting)?;
    let runs = compared.runs().iter().map(Run::of).collect();
    let legend = variants.iter().map(|variant| {
        let (variant, summary) = (variant.name.clone(), variant.summary());
        Legend { variant, summary }
    });
    let (comparison, legend) = (Box::new(compared.into_ranking()), legend.collect());
    Ok(Told::Compared { comparison, runs, legend, left_out, cut: is_cut })
}

fn of_paper(waiting: &Waiting<'_>, experiment: &str, reps: Option<u64>) -> Result<Told, Wrong> {
    // Files are named with a dot, and none is read for a page.
    if experiment.contains('.') {
        return Err(Wrong::plain(format!("there is no experiment `{experiment}`")));
    }
    if let Some(reps) = reps.filter(|reps| *reps > MOST_SEEDS) {
        return Err(Wrong::plain(format!("{reps} seeds of each point: at most {MOST_SEEDS}")));
    }
    let found = find(&[experiment.to_owned()])?;
    let experiments =
        run_all(&found, &SweepOptions { reps, ..SweepOptions::default() }, None, waiting)?;
    Ok(Told::Reproduced { experiments: Box::new(experiments) })
}
