use std::sync::atomic::{AtomicU16, Ordering};

use super::*;

/// The queue of a node that nobody else has.
pub(in crate::qlp) fn free() -> Inbox {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests may run in several processes at once.
    let base = 20_000 + (std::process::id() % 1000) as u16 * 32;
    loop {
        let node = NodeId(base.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)));
        if let Ok(inbox) = Inbox::open(node) {
            return inbox;
        }
    }
}

fn exists(node: NodeId) -> bool {
    Queue::open(node, MQ_OFlag::O_RDONLY, None).is_ok()
}

#[test]
fn messages_come_in_order_and_a_full_queue_takes_no_more() {
    let mut inbox = free();
    let mut outlet = Outlet::new(inbox.node);
    for n in 0..inbox.depth() {
        assert_eq!(outlet.put(&[n as u8]), Put::Taken);
    }
    assert_eq!(outlet.put(b"one too many"), Put::Full);
    for n in 0..inbox.depth() {
        assert_eq!(inbox.receive(), Some(&[n as u8][..]));
    }
    assert_eq!(inbox.receive(), None);
    assert_eq!(outlet.put(&[7; MESSAGE]), Put::Taken);
    assert_eq!(outlet.put(&[7; MESSAGE + 1]), Put::Refused);
}

#[test]
fn a_queue_belongs_to_one_process_and_goes_with_it() {
    let inbox = free();
    let node = inbox.node;
    assert!(matches!(Inbox::open(node), Err(OpenError::Taken(taken)) if taken == node));
    assert!(exists(node), "who was refused removed nothing");
    drop(inbox);
    assert!(!exists(node));
}

#[test]
fn what_a_killed_process_left_is_replaced_and_nobody_reads_it() {
    let inbox = free();
    let node = inbox.node;
    drop(inbox);
    let mut outlet = Outlet::new(node);
    let left = Inbox::create(node).expect("made").expect("new");
    assert_eq!(outlet.put(b"for a process that was killed"), Put::Taken);
    drop(left);
    assert!(exists(node), "it left its queue behind");
    let mut inbox = Inbox::open(node).expect("its queue");
    assert_eq!(inbox.receive(), None);
    assert_eq!(outlet.put(b"for the new one"), Put::Taken);
    assert_eq!(inbox.receive(), Some(&b"for the new one"[..]));
}

#[test]
fn a_node_that_is_replaced_does_not_remove_the_queue_of_its_successor() {
    let first = free();
    let node = first.node;
    mq_unlink(name(node).as_str()).expect("removed");
    let second = Inbox::open(node).expect("its queue");
    drop(first);
    assert!(exists(node));
    assert_eq!(Outlet::new(node).put(b"hello"), Put::Taken);
    drop(second);
    assert_eq!(Outlet::new(node).put(b"hello"), Put::Refused);
}
