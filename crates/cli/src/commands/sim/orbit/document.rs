//! A run as JSON.

use bentpipe_orbit::{Handover, Report};
use bentpipe_scenario::Spot;
use bentpipe_units::Span;
use serde_json::{Value, json};

use super::Run;
use super::handovers::fields;

/// The document of the one pair, or those of all of them.
pub(super) fn json(run: &Run<'_>) -> Value {
    let mut documents = run.trips.pairs.iter().zip(run.reports).map(|pair| document(run, pair));
    if run.trips.several() {
        return json!({"pairs": documents.collect::<Vec<_>>()});
    }
    documents.next().unwrap_or_default()
}

fn document(run: &Run<'_>, (pair, report): (&(u32, u32), &Report)) -> Value {
    let Run { args, network, names, trips, .. } = run;
    let ms = |span: Span| span.as_nanos() as f64 / 1e6;
    let spot = |spot: &Spot| {
        json!({
            "name": spot.name,
            "latitude": spot.place.latitude().0,
            "longitude": spot.place.longitude().0,
            "track": spot.track.is_some().then_some(&spot.written),
        })
    };
    let handover = |handover: &Handover| {
        let [_, station, from, to] = fields(names, handover);
        let some = |name: String| if name.is_empty() { Value::Null } else { Value::from(name) };
        json!({
            "time_s": handover.at.as_secs_f64(), "station": station,
            "from": some(from), "to": some(to),
        })
    };
    json!({
        "constellation": args.constellation,
        "satellites": network.constellation().satellites(),
        "start": network.constellation().start().map(|start| start.to_string()),
        "from": spot(trips.place(pair.0)),
        "to": spot(trips.place(pair.1)),
        "step_s": args.step.as_secs_f64(),
        "check_s": args.ground.update_interval.as_secs_f64(),
        "samples": report.samples,
        "connected": report.connected,
        "delay_ms": report.delay.map(|delay| json!({
            "min": ms(delay.min), "mean": ms(delay.mean),
            "median": ms(delay.median), "max": ms(delay.max),
        })),
        "hops": report.hops.map(|(min, max)| json!({"min": min, "max": max})),
        "route_changes": report.route_changes,
        "handover_count": {
            "from": report.handovers_of(pair.0), "to": report.handovers_of(pair.1),
        },
        "handovers_seen": {"from": report.seen[0], "to": report.seen[1]},
        "handovers": report.handovers.iter().map(handover).collect::<Vec<_>>(),
    })
}
