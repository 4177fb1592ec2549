//! TCP beside formulas: the square-root law, the formula of Padhye and others (PFTK), CUBIC's way back to
//! the window of a loss, and the table of RFC 3649.

use std::collections::BTreeMap;

use bentpipe_cc::{Ack, Choice, Controller, Loss, LossCause, PathView};
use bentpipe_record::Sample;
use bentpipe_sim::{Observer, run};
use bentpipe_units::{ByteCount, Instant, Span};

use super::goodput::Found;
use super::{Error, agent};

/// A figure beside what a formula gives.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What it is.
    pub name: String,
    /// What the formula gives.
    pub expected: f64,
    /// What we find.
    pub found: f64,
    /// By how much of the expected the two may differ.
    pub tolerance: f64,
}

impl Comparison {
    /// The two agree.
    pub fn holds(&self) -> bool {
        (self.found - self.expected).abs() <= self.tolerance * self.expected
    }
}

/// Payload of a segment in bytes and what goes over the links with it.
const MSS: f64 = 1000.0;
const WIRE: f64 = 1040.0;

/// Everything that is compared with a formula.
///
/// # Errors
/// When a run cannot be built.
pub fn comparisons() -> Result<Vec<Comparison>, Error> {
    let mut all = Vec::new();
    for loss in [0.001, 0.003, 0.01] {
        all.push(square_root(loss)?);
    }
    for loss in [0.003, 0.01, 0.03, 0.06] {
        all.push(pftk(loss)?);
    }
    all.push(cubic_returns()?);
    all.extend(rfc3649()?);
    Ok(all)
}

/// Round trip of the path without queues: propagation, a data segment over both links, its
/// acknowledgement back.
fn round_trip() -> f64 {
    0.58 + (WIRE + 40.0) * 8.0 * (1.0 / 10e6 + 1.0 / 6e6)
}

/// Goodput with this probability of losing a segment, away from the first slow start, in bit/s.
fn goodput(name: &str, loss: f64) -> Result<f64, Error> {
    let agent = agent(name).ok_or("an agent that is compared")?;
    let changes = [
        format!("links.satellite.forward.loss={loss}"),
        "duration=1500 s".to_owned(),
        "flows.file.tcp.controller_parameters={ initial_ssthresh = 16.0 }".to_owned(),
    ];
    Ok(Found::in_runs(&agent.scenario(0.0, &changes)?, 8)?.goodput.mean)
}

/// Mathis, Semke, Mahdavi and Ott, ACM CCR 27(3), 1997, for an acknowledgement per segment.
fn square_root(loss: f64) -> Result<Comparison, Error> {
    Ok(Comparison {
        name: format!("square-root law, SACK, loss {loss}, bit/s"),
        expected: 8.0 * MSS / round_trip() * (1.5 / loss).sqrt(),
        found: goodput("sack1", loss)?,
        tolerance: 0.1,
    })
}

/// Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998, equation 30, for an acknowledgement per segment. It is
/// made for Reno and for losses that come in rows.
fn pftk(loss: f64) -> Result<Comparison, Error> {
    let rtt = round_trip();
    let timeout = rtt + 0.03;
    let repairs = rtt * (2.0 * loss / 3.0).sqrt();
    let often = (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0);
    let waits = timeout * often * loss * (1.0 + 32.0 * loss * loss);
    Ok(Comparison {
        name: format!("PFTK, NewReno, loss {loss}, bit/s"),
        expected: 8.0 * MSS / (repairs + waits),
        found: goodput("newreno", loss)?,
        tolerance: 0.2,
    })
}

/// Windows in segments, ten times a second.
#[derive(Default)]
struct Windows(Vec<f64>);

impl Observer for Windows {
    fn sample_every(&self) -> Option<Span> {
        Some(Span::from_millis(100))
    }

    fn sample(&mut self, sample: &Sample) {
        self.0.push(sample.cwnd.map_or(0.0, |cwnd| cwnd.get() as f64 / MSS));
    }
}

/// RFC 9438, section 4.2: K seconds after the repair of a loss the window is again what it was.
fn cubic_returns() -> Result<Comparison, Error> {
    let agent = agent("sack1").ok_or("an agent that is compared")?;
    let changes = [
        "flows.file.tcp.controller=cubic",
        "flows.file.tcp.controller_parameters={ initial_ssthresh = 300.0 }",
        // A needless timeout would forget the window of the loss.
        "flows.file.tcp.rto_min=1 s",
        "links.satellite.forward.queue=2000 packets",
        "links.satellite.forward.script=[{ kind = ['data'], nth = 5000 }]",
        "duration=60 s",
    ];
    let spec = agent.scenario(0.0, &changes.map(str::to_owned))?.run_spec(Some(1), false)?;
    let mut windows = Windows::default();
    run(&spec, &mut windows)?;
    let windows = windows.0;
    let fall = (1..windows.len()).find(|n| windows[*n] < 0.8 * windows[n - 1]);
    let fall = fall.ok_or("CUBIC found no loss")?;
    let most = windows[fall - 1];
    let back = windows[fall..].iter().position(|window| *window >= most - 1.0);
    let back = back.ok_or("CUBIC's window did not come back")?;
    Ok(Comparison {
        name: format!("CUBIC, from a loss to one below W_max = {most:.0} segments, s"),
        // The cube is flat there: it is within a segment that much earlier. The repair takes a round trip.
        expected: libm::cbrt(most * 0.3 / 0.4) - libm::cbrt(1.0 / 0.4) + round_trip(),
        found: back as f64 / 10.0,
        tolerance: 0.1,
    })
}

/// RFC 3649, appendix B: window, growth in a round trip, share that a loss takes.
const RFC3649: [(u64, f64, f64); 9] = [
    (38, 1.0, 0.50),
    (118, 2.0, 0.44),
    (221, 3.0, 0.41),
    (495, 5.0, 0.37),
    (1_058, 8.0, 0.33),
    (3_039, 15.0, 0.27),
    (10_661, 30.0, 0.21),
    (32_450, 51.0, 0.15),
    (84_035, 71.0, 0.10),
];

fn rfc3649() -> Result<Vec<Comparison>, Error> {
    let mut all = Vec::new();
    for (window, growth, share) in RFC3649 {
        let (found_growth, found_share) = high_speed(window)?;
        let compare = |what, expected, found, tolerance| Comparison {
            name: format!("RFC 3649, {what} at {window} segments"),
            expected,
            found,
            tolerance,
        };
        // The RFC rounds growth to whole segments and shares to hundredths.
        all.push(compare("growth", growth, found_growth, 0.06));
        all.push(compare("decrease", share, found_share, 0.04));
    }
    Ok(all)
}

/// Growth of this window in a round trip in segments, and the share that a loss then takes.
fn high_speed(window: u64) -> Result<(f64, f64), Error> {
    let mss = ByteCount::new(1000);
    let segments = |n: u64| ByteCount::new(1000 * n);
    let parameters = BTreeMap::from([("initial_ssthresh".to_owned(), 2.0)]);
    let choice = Choice::new("highspeed", parameters)?;
    let mut controller = choice.build(mss, segments(window), mss, segments(1_000_000));
    let cwnd = |controller: &dyn Controller| {
        controller.limits().window.map_or(0.0, |window| window.get() as f64 / 1000.0)
    };
    let rtt = Span::from_millis(600);
    let path = PathView {
        now: Instant::ZERO,
        mss,
        in_flight: segments(window),
        peer_window: segments(1_000_000),
        srtt: rtt,
        latest_rtt: rtt,
        min_rtt: rtt,
        return_delay: None,
        round: 1,
        delivered: ByteCount::ZERO,
        cwnd_limited: true,
    };
    for _ in 0..window {
        controller.on_ack(
            &path,
            &Ack {
                bytes: mss,
                advanced: mss,
                segments: 1,
                newest_sent_at: Instant::ZERO,
                rate_sample: None,
                acks: 1,
                in_recovery: false,
                repairing: false,
                lost: ByteCount::ZERO,
                marked: ByteCount::ZERO,
            },
        );
    }
    let grown = cwnd(controller.as_ref());
    let loss = Loss {
        bytes: mss,
        cause: LossCause::Gap,
        new_episode: true,
        again: false,
        looks_corrupt: false,
    };
    controller.on_loss(&path, &loss);
    Ok((grown - window as f64, 1.0 - cwnd(controller.as_ref()) / grown))
}
