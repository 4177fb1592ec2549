use super::*;

#[test]
fn little_waits_to_be_sent_and_the_writer_goes_on_when_half_of_it_has_left() {
    let config = Config { unsent_limit: Some(ByteCount::new(3_000)), ..Config::default() };
    let mut sender = Sender::new(Arc::new(config), Seq32::default());
    let mut data = Bytes::from_static(&[7; 10_000]);
    // The window is one segment at first.
    assert_eq!((sender.write(&mut data), sender.write(&mut data)), (3_000, 0));
    sender.buffer.take(1_000);
    assert_eq!((sender.space(), sender.take_writable()), (1_000, false));
    sender.buffer.take(1_000);
    assert_eq!((sender.space(), sender.take_writable()), (2_000, true));
    let config = Config { cwnd_init: 4, ..(*sender.config).clone() };
    sender.governor.begin(&config, config.mss);
    sender.follow_controller();
    assert_eq!(sender.write(&mut data), 7_000, "two windows of four segments");
}

#[test]
fn where_segments_were_shorter_before_the_window_counts_their_bytes() {
    // 20 segments of 500 bytes are under way, and full ones have 1,000 by now.
    let reach = |adapt_payload| {
        let config = Config { mss: 1_000, cwnd_init: 20, adapt_payload, ..Config::default() };
        let mut sender = Sender::new(Arc::new(config), Seq32::default());
        sender.open(Instant::ZERO, 1_000, 1_000);
        (0..20).for_each(|n| sender.cache.push(500 * n, 500, Instant::ZERO));
        (sender.path_view(Instant::ZERO).in_flight, sender.reach())
    };
    assert_eq!(reach(true), (ByteCount::new(10_000), 30), "ten more");
    assert_eq!(reach(false), (ByteCount::new(10_000), 20), "segments count, as in the paper");
}

#[test]
fn what_a_session_has_no_data_for_another_one_sends_at_once() {
    let now = Instant::ZERO;
    let config = Config {
        selective: true,
        mss: 1_000,
        cwnd_init: 100,
        snd_buf: ByteCount::new(1_000_000),
        ..Config::default()
    };
    let config = Arc::new(config);
    let path = SharedPath::new(config.clone());
    let sender = || {
        let mut sender = Sender::new(config.clone(), Seq32::default());
        sender.share(now, &path);
        sender.open(now, 1_000, 10_000);
        sender
    };
    let (mut first, mut second) = (sender(), sender());
    first.write(&mut Bytes::from_static(&[7; 3_000]));
    second.write(&mut Bytes::from_static(&[7; 200_000]));
    let leaves = |sender: &mut Sender| {
        sender.update(now);
        while let Some(at) = sender.deadline().filter(|at| *at < now + Span::from_secs(1)) {
            sender.handle_timeout(at);
            while sender.poll_transmit(at).is_some() {}
        }
    };
    leaves(&mut first);
    leaves(&mut second);
    assert_eq!((first.cache.len(), second.window()), (3, 97));
    // It has more: each has a half from now on.
    first.write(&mut Bytes::from_static(&[7; 200_000]));
    leaves(&mut first);
    second.follow_controller();
    assert_eq!((first.window(), second.window()), (50, 50));
    // It is over, with all of that, and somebody holds it still.
    first.drop_all(now);
    second.follow_controller();
    assert_eq!(second.window(), 100);
}
