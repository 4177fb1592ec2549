//! What a connection sends without a pause: a short object, or bulk.

use bentpipe_units::{ByteCount, Instant, Span};

/// A connection sends a short object until it has sent so much without a pause.
const SHORT: ByteCount = ByteCount::new(256_000);
/// What comes after such a pause is another object.
const PAUSE: Span = Span::from_millis(200);

/// What a connection has sent since its last pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    sent: ByteCount,
    began: Instant,
    last: Instant,
}

impl Object {
    /// Nothing was sent.
    pub(super) const NONE: Self =
        Self { sent: ByteCount::ZERO, began: Instant::ZERO, last: Instant::ZERO };

    /// So many bytes are sent, which `waited` because they were not allowed to leave before, or came from the
    /// application in the meantime.
    pub(super) fn sent(&mut self, now: Instant, bytes: ByteCount, waited: bool) {
        let pause = !waited && now.since(self.last) >= PAUSE;
        if self.sent == ByteCount::ZERO || pause {
            *self = Self { began: now, ..Self::NONE };
        }
        self.sent += bytes;
        self.last = now;
    }

    /// It is no bulk so far.
    pub(super) fn is_short(self) -> bool {
        self.sent <= SHORT
    }

    /// When its first bytes were sent, if it is short and has any.
    pub(super) fn began_short(self) -> Option<Instant> {
        (self.is_short() && self.sent > ByteCount::ZERO).then_some(self.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_short_until_much_was_sent_without_a_pause() {
        let mut object = Object::NONE;
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        assert_eq!(object.began_short(), None);
        for step in 1..=256 {
            assert!(object.is_short());
            object.sent(at(step), ByteCount::new(1_001), step > 1);
        }
        assert!(!object.is_short());
        object.sent(at(400), ByteCount::new(1_000), false);
        object.sent(at(2_000), ByteCount::new(1_000), true);
        assert_eq!(object.began_short(), None, "bulk that had to wait is no new object");
        object.sent(at(2_200), ByteCount::new(1_000), false);
        object.sent(at(2_300), ByteCount::new(1_000), false);
        assert_eq!(object.began_short(), Some(at(2_200)));
    }
}
