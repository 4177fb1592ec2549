// Quantities for people: SI units, three digits.

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** A number with three digits. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

/** A quantity with the prefix that suits it. */
export function si(value: number, unit: string): string {
  for (const [factor, prefix] of PREFIXES) {
    if (Math.abs(value) >= factor * 0.9995) return `${digits(value / factor)} ${prefix}${unit}`;
  }
  return `${digits(value)} ${unit}`;
}

export const rate = (bps: number): string => si(bps, "bit/s");
export const bytes = (count: number): string => si(count, "B");

/** A time that is short. */
export function delay(seconds: number): string {
  return seconds < 1 ? `${digits(seconds * 1e3)} ms` : `${digits(seconds)} s`;
}

/** A time that may be long. */
export function time(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** A time of a run: short ones have parts of seconds. */
export function moment(seconds: number): string {
  return seconds < 120 ? `${Number(seconds.toFixed(2))} s` : time(seconds);
}

export const percent = (share: number): string => `${digits(share * 100)} %`;

/** What is not known is a dash. */
export function or<T>(value: T | null | undefined, text: (value: T) => string): string {
  return value === null || value === undefined ? "–" : text(value);
}
