//! Element sets of satellites that nobody has launched.

use std::fmt::Write as _;

/// Turns a day of a satellite at 550 km.
const TURNS: f64 = 15.05;

/// A Walker shell at 550 km and 53 degrees as two-line element sets, which are of the first of January 2026.
pub fn walker_shell(planes: u32, per_plane: u32) -> String {
    let mut text = String::new();
    for number in 0..planes * per_plane {
        let (plane, slot) = (number / per_plane, number % per_plane);
        let node = 360.0 * f64::from(plane) / f64::from(planes);
        let stagger = f64::from(plane) / f64::from(planes);
        let anomaly = 360.0 * (f64::from(slot) + stagger) / f64::from(per_plane);
        let catalogue = number + 1;
        let first = format!(
            "1 {catalogue:05}U 26001A   26001.00000000  .00000000  00000-0  00000-0 0  999"
        );
        let second = format!(
            "2 {catalogue:05}  53.0000 {node:8.4} 0001000   0.0000 {anomaly:8.4} {TURNS:11.8}    1"
        );
        // Writing into a String does not fail.
        let _ = writeln!(text, "WALKER {plane}/{slot}");
        for line in [first, second] {
            let _ = writeln!(text, "{line}{}", checksum(&line));
        }
    }
    text
}

/// The last digit of a line: the sum of its digits, where a minus counts as one.
fn checksum(line: &str) -> u32 {
    let value = |letter: char| letter.to_digit(10).unwrap_or(u32::from(letter == '-'));
    line.chars().map(value).sum::<u32>() % 10
}
