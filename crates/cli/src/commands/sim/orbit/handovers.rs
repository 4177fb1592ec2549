//! Handovers, in words and in a file.

use std::io::Write;

use bentpipe_orbit::{Handover, Names, Node, Report};

use super::trips::Trips;

/// Time, station, satellite given up and satellite taken.
pub(super) fn fields(names: &Names, handover: &Handover) -> [String; 4] {
    let satellite = |number: Option<u32>| {
        number.map_or_else(String::new, |number| names.node(Node::Satellite(number)).to_owned())
    };
    [
        format!("{}", handover.at.as_secs_f64()),
        names.node(Node::Station(handover.station)).to_owned(),
        satellite(handover.from),
        satellite(handover.to),
    ]
}

/// Writes the handovers of all pairs as CSV.
pub(super) fn write(
    out: impl Write,
    names: &Names,
    trips: &Trips<'_>,
    reports: &[Report],
) -> csv::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    // `from` and `to` are satellites here.
    let pair = ["route_from", "route_to"].into_iter().filter(|_| trips.several());
    writer.write_record(pair.chain(["time_s", "station", "from", "to"]))?;
    for (pair, report) in trips.pairs.iter().zip(reports) {
        for handover in &report.handovers {
            let pair = trips.names(*pair).into_iter().filter(|_| trips.several());
            let fields = fields(names, handover);
            writer.write_record(pair.chain(fields.iter().map(String::as_str)))?;
        }
    }
    Ok(writer.flush()?)
}
