//! `bentpipe trace record` and `bentpipe trace respond`.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};

use bentpipe_net::recording::{self, Echo, Respond, Udp};
use bentpipe_system::Clock;
use bentpipe_trace::Trace;
use bentpipe_trace::record::{Amount, Early, Far, Limits, Plan, RecordError, Recorder, Recording};
use bentpipe_units::ByteCount;

use crate::args::sim::{FarEnd, TraceRecord, TraceRespond, TraceWay};
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;
use crate::output::lines::Lines;
use crate::output::sim::file::Reserved;

/// Measures a link.
pub(crate) fn record(args: &TraceRecord) -> Result<(), Failure> {
    let (load, option) = match args.way {
        TraceWay::Down => (args.load_down, "--load-down"),
        TraceWay::Up => (args.load_up, "--load-up"),
    };
    if args.only_rate && load.is_none() {
        let problem = format!("--only-rate: without a load there is no rate: add {option} RATE");
        return Err(Failure::Input(problem));
    }
    let recording = in_runtime(async {
        let mut stop = Stop::listen()?;
        let to = resolve(&args.to).await?;
        let clock = Clock::start();
        let failed = |error: io::Error| Failure::System(format!("{}: {error}", args.to.text));
        let session = recording::session().map_err(failed)?;
        let plan = plan(args, to.ip());
        let wrong = |error: bentpipe_trace::record::PlanError| Failure::Input(error.to_string());
        let mut recorder = Recorder::new(plan, session, clock.now()).map_err(wrong)?;
        let out = args.out.as_deref().map(|path| Reserved::new(path, [])).transpose()?;
        announce(args, &plan)?;
        // Whoever does not read this loses nothing.
        let begins = || drop(writeln!(anstream::stderr(), "{} answers: measuring", args.to.text));
        let done = match args.to.port {
            None => {
                let echo =
                    Echo::to(to.ip(), session as u16).map_err(|error| forbidden(args, &error))?;
                recording::record(&mut recorder, &echo, &clock, begins, async || stop.wait().await)
                    .await
            }
            Some(_) => {
                let udp = Udp::to(to).map_err(failed)?;
                recording::record(&mut recorder, &udp, &clock, begins, async || stop.wait().await)
                    .await
            }
        };
        done.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => Failure::System(format!(
                "{}: nobody listens there: start `bentpipe trace respond` at the far end",
                args.to.text
            )),
            _ => failed(error),
        })?;
        let recording = recorder.finish(&args.to.text).map_err(|error| refused(args, &error))?;
        Ok((recording, out))
    });
    let (mut recording, out) = recording?;
    conclude(&recording)?;
    if args.only_rate {
        let Trace { rate, length, .. } = recording.trace;
        if rate.is_none() {
            return Err(Failure::System(format!("{}: nothing of the load came", args.to.text)));
        }
        recording.trace = Trace { rate, ..Trace::silent(length) };
    }
    write(&recording, out)
}

/// The first address of a host.
async fn resolve(far: &FarEnd) -> Result<SocketAddr, Failure> {
    let unknown = |problem: String| Failure::System(format!("{}: {problem}", far.text));
    let found = tokio::net::lookup_host((far.host.as_str(), far.port.unwrap_or(0))).await;
    let mut found = found.map_err(|error| unknown(error.to_string()))?;
    found.next().ok_or_else(|| unknown("it has no address".to_owned()))
}

fn plan(args: &TraceRecord, to: IpAddr) -> Plan {
    let far = if args.to.port.is_some() { Far::Responder } else { Far::Echo };
    // UDP and the echo of ICMP both have 8 bytes behind the header of IP.
    let headers = ByteCount::new(if to.is_ipv4() { 28 } else { 48 });
    Plan {
        far,
        duration: args.duration,
        interval: args.interval,
        limit: args.limit,
        load_up: args.load_up,
        load_down: args.load_down,
        way: args.way.into(),
        gap: args.gap,
        headers,
    }
}

/// Says beforehand what it will take.
fn announce(args: &TraceRecord, plan: &Plan) -> Result<(), Failure> {
    let way = |name: &str, Amount { packets, bytes }| {
        format!("{name} at most {packets} packets, {:.2} MB", bytes.get() as f64 / 1e6)
    };
    let (up, down) = (way("up", plan.up()), way("down", plan.down()));
    let line =
        format!("{}: {} from its first answer on; {up}; {down}", args.to.text, args.duration);
    Ok(writeln!(anstream::stderr(), "{line}")?)
}

/// Says what became of it.
fn conclude(recording: &Recording) -> Result<(), Failure> {
    let Recording { probes, answered, sent, received, early, .. } = recording;
    let mut err = anstream::stderr().lock();
    let why = match early {
        None => "",
        Some(Early::Stopped) => "stopped early; ",
        Some(Early::Limit) => "ended early, the --limit is used up; ",
        Some(Early::Responder) => "ended early, the responder sends no more in a session; ",
    };
    let (sent, received) = (sent.get() as f64 / 1e6, received.get() as f64 / 1e6);
    writeln!(
        err,
        "{why}{answered} of {probes} probes were answered; {sent:.2} MB sent, {received:.2} MB received"
    )?;
    Ok(())
}

fn write(recording: &Recording, out: Option<Reserved<'_>>) -> Result<(), Failure> {
    let Some(out) = out else {
        return super::write(&recording.trace, None, []);
    };
    let path = out.path();
    out.empty().and_then(|file| super::fill(&recording.trace, path, file)).inspect_err(|_| {
        // What was measured is not measured again: it goes where there is room.
        drop(super::write(&recording.trace, None, []));
    })
}

fn forbidden(args: &TraceRecord, error: &io::Error) -> Failure {
    let to = &args.to.text;
    Failure::System(match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "{to}: this user may not send echoes: be root, or let the group do so with \
             `sysctl net.ipv4.ping_group_range=\"0 2147483647\"`"
        ),
        _ => format!("{to}: {error}"),
    })
}

fn refused(args: &TraceRecord, error: &RecordError) -> Failure {
    let to = &args.to.text;
    Failure::System(match error {
        RecordError::Silent(_) if args.to.port.is_some() => {
            format!("{to}: {error}: is `bentpipe trace respond` running there?")
        }
        RecordError::Trace(error) => error.to_string(),
        _ => format!("{to}: {error}"),
    })
}

/// Answers recorders until it is stopped.
pub(crate) fn respond(args: &TraceRespond) -> Result<(), Failure> {
    in_runtime(async {
        let mut stop = Stop::listen()?;
        let limits = Limits { rate: args.max_rate, bytes: args.max_bytes };
        let failed =
            |error: io::Error| Failure::System(format!("--listen {}: {error}", args.listen));
        let responder = Respond::listen(args.listen, limits).await.map_err(failed)?;
        let lines = Lines::new();
        lines.say(format_args!("listening on {}", responder.address().map_err(failed)?));
        tokio::select! {
            never = responder.run() => match never {},
            () = stop.wait() => Ok(()),
        }
    })
}
