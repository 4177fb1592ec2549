// What the server says. The names are those of the command's documents.

import { token } from "./state";

export interface Wrong {
  message: string;
  line: number | null;
  key: string | null;
}

export interface City {
  name: string;
  latitude: number;
  longitude: number;
}

export interface About {
  version: string;
  folder: string | null;
  gateways: string[];
  simulated_s: number;
  runs: number;
  variants: string[];
  places: City[];
}

export interface Entry {
  name: string;
  summary: string;
  parameters: { name: string; summary: string }[];
}

export type Lists = Record<
  "experiments" | "protocols" | "controllers" | "links" | "scenarios" | "constellations" | "places" | "metrics" | "variants",
  Entry[]
>;

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const known = token();
  const headers = new Headers(init.headers);
  if (known !== null) headers.set("authorization", `Bearer ${known}`);
  const response = await fetch(`/api/${path}`, { ...init, headers });
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response;
}

export async function json<T>(path: string): Promise<T> {
  return (await (await ask(path)).json()) as T;
}

export async function text(path: string): Promise<string> {
  return (await ask(path)).text();
}

/** A file that the server writes. */
export async function written(path: string, asked: unknown): Promise<Blob> {
  return (await ask(path, { method: "POST", body: JSON.stringify(asked) })).blob();
}

/** A scenario with changes in it, as `--set` has them, or what is wrong with it then. */
export async function changed(scenario: string, changes: string[], signal: AbortSignal | null = null): Promise<{ scenario: string } | { wrong: Wrong }> {
  const headers = { "content-type": "application/json" };
  const response = await ask("change", { method: "POST", headers, body: JSON.stringify({ scenario, changes }), signal });
  return (await response.json()) as { scenario: string } | { wrong: Wrong };
}

/** What is wrong with a text that was typed. */
export async function check(what: "scenario" | "gateway", typed: string): Promise<Wrong[]> {
  const response = await ask(`check/${what}`, { method: "POST", body: typed });
  return ((await response.json()) as { wrong: Wrong[] }).wrong;
}

const lists = new Map<string, Promise<unknown>>();

/** A document that does not change, asked for once. */
export function once<T>(path: string): Promise<T> {
  const known = lists.get(path) ?? json<T>(path);
  lists.set(path, known);
  // What failed is asked for again.
  known.catch(() => lists.delete(path));
  return known as Promise<T>;
}

export interface Listener<T> {
  told: (message: T) => void;
  wrong: (wrong: Wrong) => void;
  frame?: (frame: ArrayBuffer) => void;
  /** The server has closed, after it said what is wrong or without that. */
  closed?: (refused: boolean) => void;
}

/** What is told where the server has gone. */
export const LOST: Wrong = { message: "the server has gone, or did not take what was asked", line: null, key: null };

/** A talk with the server. It ends when the tab does, and with it what the server does for it. */
export class Talk<T extends { kind: string }> {
  private readonly socket: WebSocket;

  constructor(path: string, asked: unknown, listener: Listener<T>) {
    const known = token();
    const protocols = known === null ? ["bentpipe"] : ["bentpipe", `token.${known}`];
    this.socket = new WebSocket(`ws://${location.host}/api/${path}`, protocols);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.say(asked);
    let refused = false;
    this.socket.onclose = () => listener.closed?.(refused);
    this.socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== "string") return listener.frame?.(data);
      const message = JSON.parse(data) as T | ({ kind: "wrong" } & Wrong);
      if (message.kind === "wrong") {
        refused = true;
        listener.wrong(message as Wrong);
      } else listener.told(message as T);
    };
  }

  /** Says something, as soon as the server listens. */
  say(message: unknown): void {
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.addEventListener("open", () => this.say(message), { once: true });
    else if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close(): void {
    this.socket.onclose = null;
    this.socket.onmessage = null;
    // A browser complains of one that is closed while it opens.
    if (this.socket.readyState === WebSocket.CONNECTING) this.socket.onopen = () => this.socket.close();
    else this.socket.close();
  }
}
