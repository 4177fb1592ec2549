//! Tracks as receivers of GPS write them (GPX 1.1, <https://www.topografix.com/GPX/1/1/>).

use bentpipe_units::{Degrees, Instant, Km, Span};
use chrono::DateTime;
use roxmltree::{Document, Node, ParsingOptions};

use super::csv::{altitude, at_line};
use super::{Track, TrackPoint};
use crate::{OrbitError, Place};

/// Reads the points of all tracks, in the order of the file, or those of routes where there is no track.
pub(super) fn read(text: &str) -> Result<Track, OrbitError> {
    // No file of this kind needs a declaration of types, in which entities could grow without end.
    let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| at_line(u64::from(error.pos().row), error.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "gpx" {
        let message = format!("`<{}>` where `<gpx>` begins a track", root.tag_name().name());
        return Err(at_line(1, message));
    }
    let named = |name| root.descendants().filter(move |node| node.tag_name().name() == name);
    let kind = if named("trkpt").next().is_some() { "trkpt" } else { "rtept" };
    let mut first = None;
    let points = named(kind).map(|node| point(&document, node, &mut first));
    Track::new(points.collect::<Result<_, _>>()?)
}

/// The point of an element; `first` is the time of the first one, in nanoseconds.
fn point(
    document: &Document<'_>,
    node: Node<'_, '_>,
    first: &mut Option<i64>,
) -> Result<TrackPoint, OrbitError> {
    // Where a node stands is found by counting lines: for errors only.
    let line = || u64::from(document.text_pos_at(node.range().start).row);
    let wrong = |message: String| at_line(line(), message);
    let number = |what: &str, text: Option<&str>| -> Result<f64, OrbitError> {
        let text = text.ok_or_else(|| wrong(format!("a point without `{what}`")))?;
        let parsed = text.trim().parse().ok().filter(|value: &f64| value.is_finite());
        parsed.ok_or_else(|| wrong(format!("{what}: `{text}` is no number")))
    };
    let child = |name| -> Option<String> {
        let child = node.children().find(|child| child.tag_name().name() == name)?;
        // A comment cuts a text in two.
        Some(child.children().filter_map(|part| part.text().filter(|_| part.is_text())).collect())
    };
    let latitude = number("lat", node.attribute("lat"))?;
    let longitude = number("lon", node.attribute("lon"))?;
    let place = Place::new(Degrees(latitude), Degrees(longitude));
    let place = place.map_err(|error| wrong(error.to_string()))?;
    let altitude = match child("ele") {
        None => Km(0.0),
        Some(text) => altitude(number("ele", Some(&text))?)
            .map_err(|message| wrong(format!("ele: {message}")))?,
    };
    let time = child("time").ok_or_else(|| {
        wrong("a point without `time`: without times it is a line and no track".to_owned())
    })?;
    let parsed = DateTime::parse_from_rfc3339(time.trim()).ok();
    let nanos = parsed.and_then(|time| time.timestamp_nanos_opt()).ok_or_else(|| {
        wrong(format!("time: `{time}` is no time after 1678 such as 2026-11-25T08:00:00Z"))
    })?;
    let since = nanos.checked_sub(*first.get_or_insert(nanos)).and_then(|n| u64::try_from(n).ok());
    let since = since.ok_or_else(|| wrong(format!("time: {time} is before the first point's")))?;
    Ok(TrackPoint { at: Instant::ZERO + Span::from_nanos(since), place, altitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpx(points: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<gpx version=\"1.1\" creator=\"test\" \
             xmlns=\"http://www.topografix.com/GPX/1/1\">\n<trk><name>a</name><trkseg>\n{points}\n\
             </trkseg></trk></gpx>\n"
        )
    }

    #[test]
    fn the_first_point_is_the_start_and_heights_are_metres() {
        let text = gpx(
            "<trkpt lat=\"51.5\" lon=\"-0.1\"><ele>25</ele><time>2026-11-25T23:59:30+01:00</time></trkpt>\n\
             <trkpt lat=\"51.6\" lon=\"-0.2\"><time>2026-11-25T23:00:00.250Z</time></trkpt>",
        );
        let track = Track::read(&text).expect("a track");
        let start = track.at(Instant::ZERO);
        assert_eq!((start.place.longitude(), start.altitude), (Degrees(-0.1), Km(0.025)));
        assert_eq!(track.length(), Span::from_millis(30_250));
    }

    #[test]
    fn a_comment_within_a_value_changes_nothing() {
        let text = gpx(
            "<trkpt lat=\"1\" lon=\"2\"><ele>11<!-- m -->000</ele><time>2026-01-01T00:00:00Z</time></trkpt>",
        );
        assert_eq!(Track::read(&text).expect("a track").at(Instant::ZERO).altitude, Km(11.0));
    }

    #[test]
    fn a_track_of_a_hundred_thousand_points_is_read_in_one_pass() {
        let point = |n: u32| {
            let (minutes, seconds) = (n / 60, n % 60);
            let time = format!(
                "2026-01-{:02}T{:02}:{:02}:{seconds:02}Z",
                1 + minutes / 1440,
                minutes / 60 % 24,
                minutes % 60
            );
            format!("<trkpt lat=\"1\" lon=\"2\"><time>{time}</time></trkpt>\n")
        };
        let text = gpx(&(0..100_000).map(point).collect::<String>());
        assert_eq!(Track::read(&text).expect("a track").length(), Span::from_secs(99_999));
    }

    #[test]
    fn the_points_of_a_route_count_where_there_is_no_track() {
        let text = "<gpx><rte><rtept lat=\"1\" lon=\"2\"><time>2026-01-01T00:00:00Z</time></rtept></rte></gpx>";
        assert_eq!(read(text).expect("a track").at(Instant::ZERO).place.latitude(), Degrees(1.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let time = "<time>2026-11-25T08:00:00Z</time>";
        for (points, what) in [
            ("<trkpt lat=\"1\" lon=\"2\"/>".to_owned(), "line 4: a point without `time`"),
            (format!("<trkpt lat=\"1\">{time}</trkpt>"), "line 4: a point without `lon`"),
            (format!("<trkpt lat=\"x\" lon=\"2\">{time}</trkpt>"), "line 4: lat: `x`"),
            (format!("<trkpt lat=\"1\" lon=\"200\">{time}</trkpt>"), "line 4: longitude: 200"),
            (
                "<trkpt lat=\"1\" lon=\"2\"><time>now</time></trkpt>".to_owned(),
                "line 4: time: `now`",
            ),
            ("<trkpt lat=\"1\"".to_owned(), "line 5"),
            (String::new(), "no points"),
        ] {
            let found = read(&gpx(&points)).expect_err(&points).to_string();
            assert!(found.contains(what), "{points}: {found}");
        }
        assert!(read("<kml/>").expect_err("kml").to_string().contains("`<kml>` where `<gpx>`"));
    }
}
