// What gateways say of themselves. The names are those of their status.

export interface Peer {
  name: string;
  address: string | null;
  up: boolean;
  link: number;
  outer: string;
  srtt_seconds: number | null;
  loss_ratio: number | null;
  connections: number;
  held_bytes: number;
  capacity_bits_per_second: number | null;
  rate_bits_per_second: number | null;
  retransmitted_bytes: number;
  parity_bytes: number;
  sent_bytes: number;
  received_bytes: number;
}

export interface Flow {
  number: number;
  client: string;
  destination: string;
  peer: string;
  direct: boolean;
  age_seconds: number;
  sent_bytes: number;
  received_bytes: number;
  connection: { srtt_seconds: number | null; cwnd_bytes: number | null; in_flight_bytes: number; retransmitted_segments: number } | null;
}

export interface Status {
  role: string;
  uptime_seconds: number;
  link_rate_bits_per_second: number | null;
  totals: { open: number; flows: number; refused: number; cut: number; sent_bytes: number; received_bytes: number };
  links: { link: number; month_bytes: number; cap_bytes: number; closed: boolean }[];
  peers: Peer[];
  flows: Flow[];
}

export interface Now {
  address: string;
  time_s: number;
  status: Status | null;
  error: string | null;
}

type Column = (number | null | undefined)[];

export interface History {
  time_s: number[];
  sent_bytes: Column;
  received_bytes: Column;
  open: Column;
  peers: Record<string, PeerHistory>;
}

export interface PeerHistory {
  sent_bytes: Column;
  received_bytes: Column;
  retransmitted_bytes: Column;
  parity_bytes: Column;
  held_bytes: Column;
  srtt_s: Column;
  loss_ratio: Column;
}
