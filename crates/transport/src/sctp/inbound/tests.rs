//! Order of streams, pieces of messages.

use proptest::prelude::*;

use super::*;

fn data(stream: u16, ssn: u16, flags: DataFlags, payload: &'static str) -> Data {
    let payload = Bytes::from_static(payload.as_bytes());
    Data { stream, ssn, flags, payload, ..Data::default() }
}

fn whole(stream: u16, ssn: u16) -> Data {
    data(stream, ssn, DataFlags::WHOLE, "x")
}

fn read(inbound: &mut Inbound) -> Vec<(u16, String)> {
    let text = |message: Message| {
        let bytes = message.pieces.concat();
        (message.stream, String::from_utf8(bytes).expect("text"))
    };
    std::iter::from_fn(|| inbound.pop()).map(text).collect()
}

/// Figure 4 of Fu, Atiquzzaman, Ivancic 2005: each stream waits for its own lost message only.
#[test]
fn a_lost_message_holds_up_its_own_stream_and_no_other() {
    let mut inbound = Inbound::default();
    for (stream, count) in [(1, 12), (2, 9), (3, 4), (4, 22)] {
        inbound.streams.insert(stream, Stream { next: count, ..Stream::default() });
    }
    // SSN 9 of stream 2, 4 of stream 3 and 22 of stream 4 are lost.
    for (number, (stream, ssn)) in
        [(1, 12), (2, 10), (2, 11), (2, 12), (2, 13), (3, 5), (3, 6), (3, 7), (4, 23)]
            .into_iter()
            .enumerate()
    {
        let readable = inbound.take(number as u64, whole(stream, ssn));
        assert_eq!(readable, stream == 1, "{stream} {ssn}");
    }
    assert_eq!(read(&mut inbound).len(), 1, "12 of stream 1");
    assert_eq!((inbound.held(), inbound.held_count()), (8, 8));
    assert!(inbound.take(20, whole(2, 9)));
    assert_eq!(read(&mut inbound), vec![(2, "x".to_owned()); 5]);
    assert!(inbound.take(21, whole(3, 4)) && inbound.take(22, whole(4, 22)));
    assert_eq!((read(&mut inbound).len(), inbound.held()), (6, 0));
}

#[test]
fn pieces_in_any_order_make_the_message() {
    let pieces =
        [(7, DataFlags::BEGIN, "ab"), (8, DataFlags::default(), "cd"), (9, DataFlags::END, "e")];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        let mut inbound = Inbound::default();
        for n in order {
            let (number, flags, text) = pieces[n];
            inbound.take(number, data(0, 0, flags, text));
        }
        assert_eq!(read(&mut inbound), [(0, "abcde".to_owned())], "{order:?}");
        assert_eq!((inbound.held(), inbound.unread()), (0, 0));
    }
}

#[test]
fn unordered_messages_wait_for_nothing() {
    let mut inbound = Inbound::default();
    assert!(!inbound.take(5, whole(0, 1)));
    assert!(inbound.take(6, data(0, 9, DataFlags::WHOLE.with(DataFlags::UNORDERED), "u")));
    assert_eq!(read(&mut inbound), [(0, "u".to_owned())]);
}

#[test]
fn numbers_of_a_stream_wrap() {
    let mut inbound = Inbound::default();
    inbound.streams.insert(0, Stream { next: u16::MAX, ..Stream::default() });
    assert!(!inbound.take(2, whole(0, 0)));
    assert!(inbound.take(1, whole(0, u16::MAX)));
    assert_eq!(read(&mut inbound).len(), 2);
}

#[test]
fn a_message_longer_than_the_buffer_comes_in_parts_and_holds_up_its_stream_only() {
    let mut inbound = Inbound::default();
    inbound.take(1, data(0, 0, DataFlags::BEGIN, "ab"));
    inbound.take(2, data(0, 0, DataFlags::default(), "cd"));
    assert!(inbound.deliver_in_parts(2));
    assert!(!inbound.deliver_in_parts(2), "one at a time");
    assert_eq!(read(&mut inbound), [(0, "abcd".to_owned())]);
    assert!(!inbound.take(5, whole(0, 1)));
    assert!(inbound.take(6, whole(1, 0)));
    assert!(!inbound.take(4, data(0, 0, DataFlags::END, "g")));
    assert!(inbound.take(3, data(0, 0, DataFlags::default(), "ef")));
    let rest: Vec<_> = read(&mut inbound);
    assert_eq!(rest, [(1, "x".to_owned()), (0, "efg".to_owned()), (0, "x".to_owned())]);
}

#[test]
fn a_number_that_was_delivered_is_not_delivered_again() {
    let mut inbound = Inbound::default();
    assert!(inbound.take(1, whole(0, 0)));
    assert!(!inbound.take(2, whole(0, 0)));
    assert!(!inbound.take(3, whole(0, 5)) && !inbound.take(4, whole(0, 5)));
    assert_eq!((inbound.held(), read(&mut inbound).len()), (1, 1));
}

proptest! {
    /// Messages of several pieces on three streams, whose pieces have consecutive numbers.
    #[test]
    fn pieces_of_many_messages_in_any_order_make_each_message_once(
        lengths in prop::collection::vec((0..3u16, 2..6usize), 1..20),
        order in prop::collection::vec(any::<u32>(), 100),
    ) {
        let (mut pieces, mut expected) = (Vec::new(), vec![Vec::new(); 3]);
        let mut next = [0; 3];
        for (stream, length) in lengths {
            let of = usize::from(stream);
            for n in 0..length {
                let begin = if n == 0 { DataFlags::BEGIN } else { DataFlags::default() };
                let end = if n + 1 == length { DataFlags::END } else { DataFlags::default() };
                let number = pieces.len() as u64;
                pieces.push((number, data(stream, next[of], begin.with(end), "x")));
            }
            next[of] += 1;
            expected[of].push((stream, "x".repeat(length)));
        }
        pieces.sort_by_key(|(number, _)| order[*number as usize]);
        let mut inbound = Inbound::default();
        for (number, piece) in pieces {
            inbound.take(number, piece);
        }
        let read = read(&mut inbound);
        for (stream, expected) in (0..).zip(expected) {
            let of: Vec<_> = read.iter().filter(|(of, _)| *of == stream).cloned().collect();
            prop_assert_eq!(of, expected);
        }
        prop_assert_eq!((inbound.held(), inbound.held_count(), inbound.runs.len()), (0, 0, 0));
    }
}

#[test]
fn each_of_very_many_pieces_of_a_message_costs_the_same() {
    let mut inbound = Inbound::default();
    let count = 200_000;
    inbound.take(0, data(0, 0, DataFlags::BEGIN, "x"));
    for number in 1..count {
        inbound.take(number, data(0, 0, DataFlags::default(), "x"));
    }
    assert_eq!(inbound.runs.len(), 1, "one look, however many pieces wait");
    inbound.take(count, data(0, 0, DataFlags::END, "x"));
    assert_eq!(inbound.pop().map(|message| message.len()), Some(count as usize + 1));
}
