//! A question before a repair: was it data that were lost, or acknowledgements?
//!
//! When the timer of the oldest segment runs out and nothing says that later data arrived, either all that is under
//! way was lost, or the acknowledgements of it were lost or are late. A controller may ask for the difference
//! ([`Repair::asks_before_repair`](bentpipe_cc::Repair)): then a new segment leaves in place of the repair, whatever
//! the window says. What acknowledges it acknowledges everything before it, and nothing was lost; what only reports
//! it says that something is missing, and the timeout is answered then. Without an answer it is when the timer runs
//! out once more.

/// The question of one sender.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing is asked.
    #[default]
    Quiet,
    /// A new segment is to leave.
    Due,
    /// The segment at this offset left; `None` if none could.
    Asked(Option<u64>),
}

/// What an acknowledgement says to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing yet.
    Nothing,
    /// The acknowledgements were lost or late: the peer has everything.
    AllArrived,
    /// The peer has what asked, and misses something before it.
    DataLost,
}

impl Inquiry {
    /// A new segment is to leave. False when one was already, so that the timeout has to be answered.
    pub(super) fn begin(&mut self) -> bool {
        let first = self.state == State::Quiet;
        self.state = if first { State::Due } else { State::Quiet };
        first
    }

    /// A new segment is to leave, whatever the window says.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.state == State::Due
    }

    /// Something is asked.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.state != State::Quiet
    }

    /// The new segment left from this offset. With `None` none could, and the timeout is answered when the timer runs
    /// out again.
    pub(super) const fn left(&mut self, start: Option<u64>) {
        self.state = State::Asked(start);
    }

    /// Offset of the segment that asked.
    pub(super) const fn asked(&self) -> Option<u64> {
        match self.state {
            State::Asked(start) => start,
            State::Quiet | State::Due => None,
        }
    }

    /// An acknowledgement of everything before `una` came; `reported` if the peer has what asked all the same.
    pub(super) fn hear(&mut self, una: u64, reported: bool) -> Answer {
        let State::Asked(Some(start)) = self.state else { return Answer::Nothing };
        let answer = if una >= start {
            Answer::AllArrived
        } else if reported {
            Answer::DataLost
        } else {
            return Answer::Nothing;
        };
        self.state = State::Quiet;
        answer
    }

    /// Nothing is asked any more.
    pub(super) const fn stop(&mut self) {
        self.state = State::Quiet;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Inquiry {
        let mut inquiry = Inquiry::default();
        assert!(inquiry.begin() && inquiry.is_due());
        inquiry.left(Some(5_000));
        assert!(!inquiry.is_due() && inquiry.is_on());
        inquiry
    }

    #[test]
    fn an_acknowledgement_of_what_lies_before_it_says_that_all_arrived() {
        let mut inquiry = asked();
        assert_eq!(inquiry.hear(4_000, false), Answer::Nothing, "a late one");
        assert_eq!(inquiry.hear(5_000, false), Answer::AllArrived);
        assert!(!inquiry.is_on());
    }

    #[test]
    fn a_report_of_it_alone_says_that_data_were_lost() {
        let mut inquiry = asked();
        assert_eq!(inquiry.hear(4_000, true), Answer::DataLost);
        assert_eq!(inquiry.hear(4_000, true), Answer::Nothing, "once");
    }

    #[test]
    fn one_question_is_asked_in_a_silence() {
        let mut inquiry = asked();
        assert!(!inquiry.begin() && !inquiry.is_on());
        assert!(inquiry.begin());
        inquiry.left(None);
        assert!(!inquiry.begin(), "nothing could leave");
    }
}
