//! Positions as numbers for a graphics card.

use bentpipe_orbit::{Constellation, OrbitError};
use bentpipe_units::{Instant, Span};
use bytes::{BufMut as _, Bytes, BytesMut};

/// Between the positions from which velocities come.
const APART: Span = Span::from_secs(1);
/// Derivatives of second order: from the positions around a time, or at the start from that time on.
const AROUND: [f64; 3] = [-0.5, 0.0, 0.5];
const FROM: [f64; 3] = [-1.5, 2.0, -0.5];

/// Where satellites are and how they move at one time, in the frame that turns with the Earth: the time in seconds (64 bits),
/// then of each satellite x, y, z in km and the same of its velocity in km/s (32 bits each), little-endian.
///
/// # Errors
/// When one of them is not in orbit then.
pub(super) fn frame(constellation: &Constellation, at: Instant) -> Result<Bytes, OrbitError> {
    let at_start = at.since(Instant::ZERO) < APART;
    let (first, weights) = if at_start { (at, FROM) } else { (at.before(APART), AROUND) };
    let here = usize::from(!at_start);
    let times = [first, first + APART, first + APART + APART];
    let mut positions = [const { Vec::new() }; 3];
    for (time, positions) in times.into_iter().zip(&mut positions) {
        constellation.positions(time, positions)?;
    }
    let earth = constellation.earth();
    let mut out = BytesMut::with_capacity(8 + 24 * positions[0].len());
    out.put_f64_le(at.as_secs_f64());
    let [before, now, after] = &positions;
    for ((before, now), after) in before.iter().zip(now).zip(after) {
        let mut three = [[0.0; 3]; 3];
        for ((place, time), three) in [before, now, after].into_iter().zip(times).zip(&mut three) {
            let fixed = earth.fixed(*place, time);
            *three = [fixed.x, fixed.y, fixed.z];
        }
        let velocity: [f64; 3] = std::array::from_fn(|axis| {
            (0..3).map(|n| weights[n] * three[n][axis]).sum::<f64>() / APART.as_secs_f64()
        });
        for value in three[here].into_iter().chain(velocity) {
            out.put_f32_le(value as f32);
        }
    }
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use bentpipe_orbit::known;

    use super::*;

    /// The time of a frame, and of its first satellite the position and the velocity.
    fn first(frame: &[u8]) -> (f64, [f64; 6]) {
        let time = f64::from_le_bytes(frame[..8].try_into().expect("eight bytes"));
        let value = |n: usize| {
            f32::from_le_bytes(frame[8 + 4 * n..12 + 4 * n].try_into().expect("four bytes"))
        };
        (time, std::array::from_fn(|n| f64::from(value(n))))
    }

    #[test]
    fn a_cubic_between_two_frames_a_minute_apart_is_right_within_ten_metres() {
        let spec = known("starlink").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let at = |seconds| {
            frame(&constellation, Instant::ZERO + Span::from_secs(seconds)).expect("in orbit")
        };
        assert_eq!(at(60).len(), 8 + 24 * constellation.satellites());
        for start in [0, 60, 3600] {
            let [(_, a), (time, b), (_, middle)] = [0, 60, 30].map(|n| first(&at(start + n)));
            assert_eq!(time, (start + 60) as f64);
            for axis in 0..3 {
                // Hermite at the middle: the mean, and an eighth of the time times the difference of velocities.
                let between = (a[axis] + b[axis]) / 2.0 + 60.0 / 8.0 * (a[axis + 3] - b[axis + 3]);
                assert!((between - middle[axis]).abs() < 0.01, "{axis}: {between} {middle:?}");
            }
        }
    }
}
