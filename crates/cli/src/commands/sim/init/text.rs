//! The scenario that is written.

use std::fmt;

use bentpipe_units::Span;

use super::Link;

/// Time that a transfer without losses takes, in seconds.
const TRANSFER: f64 = 30.0;
/// The longest time of the short cable to the server, one way, in seconds.
const CABLE: f64 = 0.001;
/// What a buffer and a queue hold at least, in bytes: ten packets.
const LEAST: f64 = 15_000.0;

/// The text of the scenario, with a comment on each value that is likely to be changed.
pub(super) fn scenario(name: &str, link: &Link) -> String {
    let replayed = link.trace.as_ref();
    let rate = link.rate.map(|rate| rate.as_bps() as f64).or(replayed.and_then(|it| it.rate));
    let delay = link.delay.map(Span::as_secs_f64).or(replayed.and_then(|it| it.delay));
    let (rate, delay) = (rate.unwrap_or(1e6), delay.unwrap_or_default());
    let product = (rate / 8.0 * 2.0 * (delay + CABLE)).max(LEAST);
    let [product, size, buffer] = [product, rate / 8.0 * TRANSFER, 4.0 * product].map(round);
    format!(
        r#"# A link of my own. `bentpipe run {name}.toml` sends a file over it, `bentpipe compare {name}.toml` sets protocols
# beside each other. Values have units: "20 Mbit/s", "25 ms", "64 kB". `bentpipe schema` has all keys.
name = "{name}"
description = {description}
# A run ends here at the latest.
duration = "10 min"
# What carries packets; "udp" makes each of them 28 bytes longer.
encapsulation = "udp"
nodes = ["server", "gateway", "client"]

# From the server to the near end of the satellite link. A server that is far away has a longer delay.
[links.cable]
between = ["server", "gateway"]
delay = "1 ms"

# The satellite link, in both directions.
[links.satellite]
between = ["gateway", "client"]
{values}# What may wait for the link: one product of rate and round trip.
queue = "{product}"
# Handovers:
# blackout_every = {{ first = "10 s", every = "15 s", lasts = "300 ms" }}

{other_direction}
[flows.file]
from = "server"
to = "client"
# {TRANSFER} s at the full rate.
size = "{size}"
# What `bentpipe send` does; others are "xstp", "tcp" and "sctp". `bentpipe compare` puts all of them here.
protocol = "bentpipe"

# Buffers of XSTP: four products of rate and round trip.
[flows.file.xstp]
snd_buf = "{buffer}"
rcv_buf = "{buffer}"
"#,
        description = quoted(&link.to_string()),
        values = values(link),
        other_direction = other_direction(link, delay),
    )
}

/// What differs from the client to the gateway, or how it would be said.
fn other_direction(link: &Link, delay: f64) -> String {
    let rate = link.return_rate.map(|rate| rate.as_bps() as f64);
    let queue = |rate: f64| round((rate / 8.0 * 2.0 * (delay + CABLE)).max(LEAST));
    match (link.return_rate, rate) {
        (Some(told), Some(rate)) => format!(
            "# What differs from the client to the gateway.\n[links.satellite.return]\nrate = \"{told}\"\nqueue = \"{}\"\n",
            queue(rate)
        ),
        _ => "# What differs from the client to the gateway:\n# [links.satellite.return]\n# rate = \"2 Mbit/s\"\n\
              # queue = \"20 kB\"\n"
            .to_owned(),
    }
}

/// The values of the satellite link.
fn values(link: &Link) -> String {
    let mut lines = Vec::new();
    if let Some(trace) = &link.trace {
        lines.push("# A file beside this one, or a trace that comes with the program.".to_owned());
        lines.push(format!("trace = {}", quoted(&trace.file)));
    }
    if let Some(rate) = link.rate {
        lines.push(format!("rate = \"{rate}\""));
    }
    if let Some(delay) = link.delay {
        lines.push("# One way.".to_owned());
        lines.push(format!("delay = \"{delay}\""));
    }
    lines.push("# Share of the packets that are lost: 0.01 is 1 %.".to_owned());
    lines.push(format!("loss = {:?}", link.loss.get()));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A string of TOML, which a string of JSON is.
fn quoted(text: &str) -> serde_json::Value {
    serde_json::Value::from(text)
}

/// A number of bytes with two digits that count, and its unit.
fn round(bytes: f64) -> String {
    let step = 10f64.powf(bytes.log10().floor() - 1.0).max(1000.0);
    let bytes = (bytes / step).round().max(1.0) * step;
    if bytes < 1e6 { format!("{:.0} kB", bytes / 1e3) } else { format!("{} MB", bytes / 1e6) }
}

impl fmt::Display for Link {
    /// The link in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.rate.map(|rate| rate.to_string()),
            self.return_rate.map(|rate| format!("{rate} back")),
            self.delay.map(|delay| format!("{delay} one way")),
            (self.loss.get() > 0.0).then(|| format!("{} % lost", 100.0 * self.loss.get())),
            self.trace.as_ref().map(|trace| format!("replay of {}", trace.file)),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
