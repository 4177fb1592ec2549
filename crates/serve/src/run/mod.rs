//! A run that somebody watches while it goes.
//!
//! The simulator has a thread of its own and tells what it sees over a channel of few places. What the page is not shown yet
//! waits there, and then the simulator does: a pause, a step and a speed are when something is taken from the channel. A page
//! that is gone takes nothing any more, and the run ends.

mod asked;
mod columns;
mod pace;
mod packets;
mod thread;
mod watch;

use std::time::Duration;

use bentpipe_record::RunSummary;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use self::asked::{Asked, Control};
use self::columns::Columns;
use self::pace::{Due, Pace};
use self::thread::Began;
use self::watch::{Fact, Moment};
use crate::answer::Wrong;
use crate::state::Shared;
use crate::talk::{Gone, Talk, read};

/// What waits between the simulator and the page, at most.
const WAITING: usize = 64;
/// Time between two messages of samples, and most moments in one.
const EACH: Duration = Duration::from_millis(40);
const MOST: usize = 500;

/// What the page is told.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Told<'a> {
    Began(&'a Began),
    Samples(&'a Columns),
    Ended { summary: &'a RunSummary, limits: &'a [Option<String>], cut: bool },
}

/// Lets a scenario run and shows it.
pub(crate) async fn session(mut talk: Talk, state: Shared) -> Result<(), Gone> {
    let asked: Asked = talk.asked().await?;
    let pace = Pace::new(asked.speed, asked.paused, Instant::now());
    let (told, facts) = mpsc::channel(WAITING);
    let shared = state.clone();
    let running = match state.places().work(move || thread::run(&asked, &shared, &told)) {
        Ok(running) => running,
        Err(why) => return talk.refuse(Wrong::plain(why)).await,
    };
    let shown = Show { talk, facts, pace, columns: Columns::default(), pending: None, due: None };
    let mut talk = shown.run().await?;
    match running.await {
        Ok(()) => Ok(()),
        Err(_) => {
            talk.refuse(Wrong::plain("the run came to no end; please report this scenario")).await
        }
    }
}

/// What is between a run and its page.
struct Show {
    talk: Talk,
    facts: mpsc::Receiver<Fact>,
    pace: Pace,
    /// What the page is told next.
    columns: Columns,
    /// What it is not told yet.
    pending: Option<Moment>,
    /// When it is told what there is.
    due: Option<Instant>,
}

impl Show {
    /// Shows all of it. The run is over then, one way or another.
    async fn run(mut self) -> Result<Talk, Gone> {
        loop {
            let now = Instant::now();
            let due = self.pending.as_ref().map(|moment| self.pace.due(moment.at(), now));
            tokio::select! {
                said = self.talk.hear() => self.heed(&said?).await?,
                () = at(self.due) => self.flush().await?,
                () = when(due) => self.take_pending(),
                fact = self.facts.recv(), if self.pending.is_none() => match fact {
                    Some(fact) => self.take(fact).await?,
                    None => return Ok(self.talk),
                },
            }
            if self.columns.len() >= MOST {
                self.flush().await?;
            }
        }
    }

    async fn take(&mut self, fact: Fact) -> Result<(), Gone> {
        match fact {
            Fact::Began(began) => {
                self.columns = Columns::of(began.sizes());
                self.talk.say(&Told::Began(&began)).await
            }
            Fact::Moment(moment) => {
                self.pending = Some(moment);
                Ok(())
            }
            Fact::Ended { summary, limits, cut } => {
                self.flush().await?;
                self.talk.end(&Told::Ended { summary: &summary, limits: &limits, cut }).await
            }
            Fact::Wrong(wrong) => {
                self.flush().await?;
                self.talk.refuse(wrong).await
            }
        }
    }

    fn take_pending(&mut self) {
        let Some(moment) = self.pending.take() else { return };
        self.pace.shown(moment.at());
        self.columns.push(&moment);
        self.due.get_or_insert(Instant::now() + EACH);
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        self.due = None;
        if self.columns.is_empty() {
            return Ok(());
        }
        self.talk.say(&Told::Samples(&self.columns)).await?;
        self.columns.clear();
        Ok(())
    }

    /// Does what the page says.
    async fn heed(&mut self, said: &str) -> Result<(), Gone> {
        match read(said) {
            Ok(control) => {
                self.pace.heed(control, Instant::now());
                Ok(())
            }
            Err(wrong) => {
                self.talk.refuse(wrong).await?;
                Err(Gone)
            }
        }
    }
}

/// Waits until then; for ever where there is no such time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits until something is due; for ever where there is nothing.
async fn when(due: Option<Due>) {
    match due {
        Some(Due::Now) => {}
        Some(Due::At(time)) => at(Some(time)).await,
        Some(Due::Never) | None => std::future::pending().await,
    }
}
