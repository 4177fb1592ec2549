//! Work by several threads whose results come in order, with a bound on those that wait for an earlier one.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most jobs that are begun and not taken.
const AHEAD: u64 = 4096;

/// Does `work` on each job, on so many threads, and gives the results to `take` in the order of the jobs. Each thread
/// keeps something from one job to the next, which is `S::default()` at first. Ends at the first error.
pub(super) fn in_order<J, S, T, E>(
    jobs: impl Iterator<Item = J> + Send,
    threads: usize,
    work: impl Fn(J, &mut S) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E>
where
    J: Send,
    S: Default,
    T: Send,
    E: Send,
{
    let line = Line {
        state: Mutex::new(State { jobs, begun: 0, taken: 0, over: false }),
        moved: Condvar::new(),
    };
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        let (line, work) = (&line, &work);
        for _ in 0..threads.max(1) {
            let done = done.clone();
            scope.spawn(move || {
                let _leaving = Leaving(line);
                let mut kept = S::default();
                while let Some((number, job)) = line.next() {
                    // Nobody listens any more: the line is over, too.
                    if done.send((number, work(job, &mut kept))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let outcome = (|| {
            let mut waiting = BTreeMap::new();
            let mut next = 0;
            for (number, result) in &results {
                waiting.insert(number, result);
                while let Some(result) = waiting.remove(&next) {
                    take(result?)?;
                    next += 1;
                    line.taken();
                }
            }
            Ok(())
        })();
        line.end();
        outcome
    })
}

/// The jobs that are left.
struct Line<I> {
    state: Mutex<State<I>>,
    moved: Condvar,
}

struct State<I> {
    jobs: I,
    begun: u64,
    taken: u64,
    over: bool,
}

impl<I> Line<I> {
    fn lock(&self) -> MutexGuard<'_, State<I>> {
        // A thread that panicked has ended the line.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more result was taken.
    fn taken(&self) {
        self.lock().taken += 1;
        self.moved.notify_all();
    }

    /// No further job is begun.
    fn end(&self) {
        self.lock().over = true;
        self.moved.notify_all();
    }
}

impl<J, I: Iterator<Item = J>> Line<I> {
    /// The next job and its number; waits while too many are ahead.
    fn next(&self) -> Option<(u64, J)> {
        let waiting = |state: &mut State<I>| !state.over && state.begun - state.taken >= AHEAD;
        let state = self.moved.wait_while(self.lock(), waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return None;
        }
        let job = state.jobs.next()?;
        state.begun += 1;
        Some((state.begun - 1, job))
    }
}

/// Ends the line where a thread panics: its job will never be taken, and the others would wait for that.
struct Leaving<'l, I>(&'l Line<I>);

impl<I> Drop for Leaving<'_, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_first() {
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let work = |job: u64, before: &mut u64| {
                // Some jobs are longer than others.
                let spun = (0..(job % 7) * 10_000).fold(job, |sum, n| sum ^ n.wrapping_mul(sum));
                *before += 1;
                Ok::<_, String>((job, *before, std::hint::black_box(spun)))
            };
            let take = |(job, _, _)| {
                taken.push(job);
                Ok(())
            };
            in_order(0..3 * AHEAD, threads, work, take).expect("no error");
            assert_eq!(taken, (0..3 * AHEAD).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn the_first_error_in_order_ends_it() {
        let work = |job: u64, (): &mut ()| if job % 100 == 99 { Err(job) } else { Ok(job) };
        let mut taken = 0;
        let ended = in_order(0..1_000_000, 3, work, |_| {
            taken += 1;
            Ok(())
        });
        assert_eq!((ended, taken), (Err(99), 99));
        let ended = in_order(
            0..1_000_000,
            3,
            |job: u64, (): &mut ()| Ok(job),
            |job| {
                if job == 5 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!(ended, Err("full"));
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_is_passed_on_and_nobody_waits() {
        let work = |job: u64, (): &mut ()| {
            assert!(job != 50, "job 50");
            Ok::<_, ()>(job)
        };
        let _ = in_order(0..3 * AHEAD, 2, work, |_| Ok(()));
    }
}
