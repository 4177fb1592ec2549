//! What holds back a sender.

use serde::Serialize;

/// What held back the next data of a sender at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendLimit {
    /// The congestion window was used up.
    Cwnd,
    /// The pace did not allow it yet.
    Pacing,
    /// The peer's window: its receive buffer.
    RcvBuf,
    /// The send buffer was full of what is not acknowledged.
    SndBuf,
    /// The application had nothing to send.
    Application,
}

impl SendLimit {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Cwnd, Self::Pacing, Self::RcvBuf, Self::SndBuf, Self::Application];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cwnd => "cwnd",
            Self::Pacing => "pacing",
            Self::RcvBuf => "rcv_buf",
            Self::SndBuf => "snd_buf",
            Self::Application => "application",
        }
    }
}

/// How often each of them was seen to hold back a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts([u64; SendLimit::ALL.len()]);

impl LimitCounts {
    /// A look at a sender; nothing counts where nothing holds it back.
    pub fn take(&mut self, limit: Option<SendLimit>) {
        let place = SendLimit::ALL.iter().position(|known| limit == Some(*known));
        place.into_iter().for_each(|place| self.0[place] += 1);
    }

    /// The shares of all looks; `None` of no look.
    pub fn shares(&self) -> Option<LimitShares> {
        let all: u64 = self.0.iter().sum();
        let [cwnd, pacing, rcv_buf, snd_buf, application] =
            self.0.map(|count| count as f64 / all.max(1) as f64);
        (all > 0).then_some(LimitShares { cwnd, pacing, rcv_buf, snd_buf, application })
    }
}

impl std::iter::Sum for LimitCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, more| Self(std::array::from_fn(|n| sum.0[n] + more.0[n])))
    }
}

/// For which share of the time each of them held back a flow, as far as it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LimitShares {
    /// [`SendLimit::Cwnd`].
    pub cwnd: f64,
    /// [`SendLimit::Pacing`].
    pub pacing: f64,
    /// [`SendLimit::RcvBuf`].
    pub rcv_buf: f64,
    /// [`SendLimit::SndBuf`].
    pub snd_buf: f64,
    /// [`SendLimit::Application`].
    pub application: f64,
}

impl LimitShares {
    /// The share of one of them.
    pub const fn of(&self, limit: SendLimit) -> f64 {
        match limit {
            SendLimit::Cwnd => self.cwnd,
            SendLimit::Pacing => self.pacing,
            SendLimit::RcvBuf => self.rcv_buf,
            SendLimit::SndBuf => self.snd_buf,
            SendLimit::Application => self.application,
        }
    }

    /// The shares, the largest first.
    pub fn largest_first(&self) -> [(SendLimit, f64); 5] {
        let mut all = SendLimit::ALL.map(|limit| (limit, self.of(limit)));
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_looks_and_the_largest_comes_first() {
        let mut looks = LimitCounts::default();
        let seen = [SendLimit::RcvBuf, SendLimit::Cwnd, SendLimit::RcvBuf].map(Some);
        seen.into_iter().chain([None]).for_each(|limit| looks.take(limit));
        let mut more = LimitCounts::default();
        more.take(Some(SendLimit::Application));
        let shares = [looks, more].into_iter().sum::<LimitCounts>().shares().expect("looks");
        assert_eq!(shares.largest_first()[0], (SendLimit::RcvBuf, 0.5));
        assert_eq!(shares.cwnd + shares.application, 0.5);
        assert_eq!(LimitCounts::default().shares(), None);
    }
}
