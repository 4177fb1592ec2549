//! What an endpoint has to tell its application, and in which order.

use std::mem::take;

use crate::{Event, Failure};

/// Events that wait to be polled. Whether something can be read or written is known elsewhere, and asked for in its turn.
#[derive(Debug, Default)]
pub(crate) struct PendingEvents {
    connected: bool,
    peer_closed: bool,
    closed: bool,
    failed: Option<Failure>,
}

impl PendingEvents {
    /// [`Event::Connected`] is due.
    pub(crate) const fn connect(&mut self) {
        self.connected = true;
    }

    /// [`Event::PeerClosed`] is due.
    pub(crate) const fn peer_close(&mut self) {
        self.peer_closed = true;
    }

    /// [`Event::Closed`] is due.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    /// [`Event::Failed`] is due, and takes the place of an earlier one.
    pub(crate) const fn fail(&mut self, failure: Option<Failure>) {
        self.failed = failure;
    }

    /// The next event. What can be read comes before the end of it.
    pub(crate) fn next(
        &mut self,
        readable: impl FnOnce() -> bool,
        writable: impl FnOnce() -> bool,
    ) -> Option<Event> {
        if take(&mut self.connected) {
            return Some(Event::Connected);
        }
        if readable() {
            return Some(Event::Readable);
        }
        if writable() {
            return Some(Event::Writable);
        }
        if take(&mut self.peer_closed) {
            return Some(Event::PeerClosed);
        }
        if take(&mut self.closed) {
            return Some(Event::Closed);
        }
        self.failed.take().map(Event::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_told_before_the_end_and_each_thing_once() {
        let mut pending = PendingEvents::default();
        pending.close();
        pending.peer_close();
        pending.connect();
        pending.fail(Some(Failure::Aborted));
        let told: Vec<_> = [true, true, false, false, false]
            .into_iter()
            .map_while(|readable| pending.next(|| readable, || false))
            .collect();
        let failed = Event::Failed(Failure::Aborted);
        let expected =
            [Event::Connected, Event::Readable, Event::PeerClosed, Event::Closed, failed];
        assert_eq!(told, expected);
        assert_eq!(pending.next(|| false, || true), Some(Event::Writable));
        assert_eq!(pending.next(|| false, || false), None);
    }
}
