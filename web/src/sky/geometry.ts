// Places and directions in the frame that turns with the Earth, in Earth radii: x points to longitude 0, z to the north.

export type Vec = readonly [number, number, number];

const RADIANS = Math.PI / 180;

export function place(latitude: number, longitude: number): Vec {
  const [lat, lon] = [latitude * RADIANS, longitude * RADIANS];
  return [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
}

/** Longitude and latitude in degrees. */
export function below([x, y, z]: Vec): [number, number] {
  return [Math.atan2(y, x) / RADIANS, Math.asin(Math.max(-1, Math.min(1, z / Math.hypot(x, y, z)))) / RADIANS];
}

/** Where the sun stands in the zenith at a time, by the low-precision formulas of the Astronomical Almanac (0.01 degrees). */
export function sun(time: Date): Vec {
  const days = time.getTime() / 86_400_000 - 10_957.5;
  const mean = (280.46 + 0.9856474 * days) * RADIANS;
  const anomaly = (357.528 + 0.9856003 * days) * RADIANS;
  const longitude = mean + (1.915 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly)) * RADIANS;
  const tilt = (23.439 - 4e-7 * days) * RADIANS;
  const ascension = Math.atan2(Math.cos(tilt) * Math.sin(longitude), Math.cos(longitude));
  const declination = Math.asin(Math.sin(tilt) * Math.sin(longitude));
  const sidereal = (280.46061837 + 360.98564736629 * days) * RADIANS;
  return place(declination / RADIANS, (ascension - sidereal) / RADIANS);
}

/** The edge of the part of the ground that sees a satellite above a mask. */
export function footprint(satellite: Vec, maskDegrees: number, points: number): Vec[] {
  const distance = Math.hypot(...satellite);
  const mask = maskDegrees * RADIANS;
  const angle = Math.acos(Math.min(1, Math.cos(mask) / distance)) - mask;
  return circle([satellite[0] / distance, satellite[1] / distance, satellite[2] / distance], angle, points);
}

/** Points at an angle around a direction. */
export function circle(axis: Vec, angle: number, points: number): Vec[] {
  const other: Vec = Math.abs(axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const u = unit(cross(axis, other));
  const v = cross(axis, u);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return Array.from({ length: points + 1 }, (_, n): Vec => {
    const turn = (2 * Math.PI * n) / points;
    const [a, b] = [sin * Math.cos(turn), sin * Math.sin(turn)];
    return [cos * axis[0] + a * u[0] + b * v[0], cos * axis[1] + a * u[1] + b * v[1], cos * axis[2] + a * u[2] + b * v[2]];
  });
}

function cross(a: Vec, b: Vec): Vec {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function unit(a: Vec): Vec {
  const length = Math.hypot(...a);
  return [a[0] / length, a[1] / length, a[2] / length];
}
