// What the server says of a sky.

export interface Station {
  name: string;
  latitude: number;
  longitude: number;
  forwards: boolean;
}

export interface Sky {
  kind: "sky";
  constellation: string;
  satellites: string[];
  masks_deg: number[];
  stations: Station[];
  start: string | null;
  earth_radius_km: number;
  duration_s: number;
  step_s: number;
  isls: number[];
}

export interface Sample {
  time_s: number;
  delay_s: number | null;
  /** Satellites 0, 1, ..., then stations. */
  route: number[];
}

export interface Handover {
  time_s: number;
  station: number;
  from: number | null;
  to: number | null;
}

export interface Course {
  kind: "course";
  samples: Sample[];
  handovers: Handover[];
  isls: { time_s: number; a: number; b: number; up: boolean }[];
  is_last: boolean;
}

export type Told = Sky | Course;
