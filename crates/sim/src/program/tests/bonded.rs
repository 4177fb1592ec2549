//! Streams over several connections where memory is scarce.

use bentpipe_association::endpoint::Links;
use bentpipe_association::host::{Bonded, Connection, Joining};

use super::*;

const WINDOW: ByteCount = ByteCount::new(8_000_000);

/// What one end of a stream does: it writes so much, and reads from a time on.
#[derive(Clone, Copy)]
struct Does {
    writes: usize,
    reads_after: Option<Span>,
    /// It reads no more after so many bytes.
    refuses_after: usize,
    /// What it reads it keeps for ever.
    keeps: bool,
}

const fn writes(writes: usize) -> Does {
    Does { writes, reads_after: Some(Span::ZERO), refuses_after: usize::MAX, keeps: false }
}

/// Bytes that have come at each end.
type Came = Arc<Mutex<[usize; 2]>>;

/// An end of a stream over this connection, which does that.
fn begin(two: &Two, end: usize, connection: Connection, does: Does, came: &Came) {
    let (program, came) = (two.program(end), came.clone());
    let joining =
        Joining { connection, link: 0, carries: Default::default(), greeting: Bytes::new() };
    let bonded = Bonded::new(joining, Bytes::new(), WINDOW).expect("a stream");
    let (driven, time) = (bonded.clone(), program.runtime().clone());
    program.spawn(async move {
        let links = || Links { open: vec![0], barred: Vec::new() };
        driven.drive(&time, links, |_| None).await;
    });
    let (writer, time) = (bonded.clone(), program.runtime().clone());
    program.spawn(async move {
        for _ in 0..does.writes / 1_000 {
            writer.write_bytes(Bytes::from(vec![7; 1_000])).await.expect("written");
        }
    });
    program.spawn(async move {
        let Some(after) = does.reads_after else { return };
        time.sleep(after).await;
        let (mut chunks, mut read) = (Vec::new(), 0);
        while read < does.refuses_after
            && let Ok(true) = bonded.read_chunks(&mut chunks, 1).await
        {
            if does.keeps {
                return time.sleep(Span::from_secs(100_000)).await;
            }
            let more: usize = chunks.drain(..).map(|chunk| chunk.len()).sum();
            lock(&came)[end] += more;
            read += more;
        }
        bonded.refuse();
    });
}

/// What has come at both ends of so many streams after a time.
fn carried(streams: usize, memory: u64, does: [Does; 2], span: Span) -> [usize; 2] {
    run(streams, memory, does, span).1
}

fn held(two: &Two, end: usize) -> u64 {
    two.program(end).host().shared().endpoint().held(key(1 - end).public()).get()
}

fn run(streams: usize, memory: u64, does: [Does; 2], span: Span) -> (Two, [usize; 2]) {
    let mut two = Two::new(1);
    let came = Came::default();
    for end in 0..2 {
        two.program(end).host().limit_memory(ByteCount::new(memory), 16);
    }
    two.program(1).host().listen(Tuning::default().config().expect("settings"));
    let (host, all) = (two.program(0).host().clone(), Arc::<Mutex<Vec<Connection>>>::default());
    let opened = all.clone();
    two.program(0).spawn(async move {
        let config = Tuning::default().config().expect("settings");
        for _ in 0..streams {
            let connection = host.connect(address(1), key(1).public(), PORT, config.clone()).await;
            lock(&opened).push(connection.expect("connected"));
        }
    });
    let (host, accepted) = (two.program(1).host().clone(), Arc::<Mutex<Vec<_>>>::default());
    let others = accepted.clone();
    two.program(1).spawn(async move {
        loop {
            let connection = host.accept().await;
            lock(&others).push(connection);
        }
    });
    two.run(after(Span::from_secs(30)));
    for (end, connections) in [(0, all), (1, accepted)] {
        let connections = std::mem::take(&mut *lock(&connections));
        assert_eq!(connections.len(), streams);
        for connection in connections {
            begin(&two, end, connection, does[end], &came);
        }
    }
    for second in 1..20 {
        two.run(after(Span::from_secs(30 + second)));
        for end in 0..2 {
            let held = held(&two, end);
            assert!(held <= memory, "{held} bytes are held at {end} after {second} s");
        }
    }
    two.run(after(Span::from_secs(30) + span));
    let came = *lock(&came);
    (two, came)
}

#[test]
fn who_does_not_read_still_sends_however_much_has_come() {
    // More than it is told at once that it may. Some replies fit at a time, and a round trip takes 0.6 s.
    let sends = Does { reads_after: None, ..writes(400_000) };
    let came = carried(1, 512_000, [sends, writes(3_000_000)], Span::from_secs(300));
    assert_eq!(came, [0, 400_000]);
}

#[test]
fn who_reads_no_more_still_sends_however_much_comes() {
    let sends = Does { refuses_after: 1, ..writes(100_000) };
    let came = carried(6, 256_000, [sends, writes(500_000)], Span::from_secs(600));
    assert!(came[0] < 6 * 10_000 && came[1] == 6 * 100_000, "{came:?}");
}

#[test]
fn hosts_whose_memory_is_full_of_what_they_send_do_not_wait_for_each_other() {
    let does = Does { reads_after: Some(Span::from_secs(20)), ..writes(300_000) };
    let came = carried(6, 256_000, [does, does], Span::from_secs(3_000));
    assert_eq!(came, [6 * 300_000; 2]);
}

#[test]
fn what_a_reader_keeps_counts_until_he_comes_back() {
    let after_reading = |reads_after| {
        let reads = Does { reads_after, keeps: true, ..writes(0) };
        let (two, _) = run(1, 4_000_000, [reads, writes(50_000)], Span::from_secs(60));
        held(&two, 0)
    };
    let unread = after_reading(None);
    assert!(unread >= 50_000, "{unread}");
    assert_eq!(after_reading(Some(Span::from_secs(20))), unread);
}
