// What is shown is in the part of the address behind the #, so that a link shows somebody else the same. The token, if there
// is one, comes in there once, and is kept for this tab only.

const TOKEN = "bentpipe-token";

function parameters(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

/** Takes the token out of the address. */
export function takeToken(): void {
  const all = parameters();
  const token = all.get("token");
  if (token === null) return;
  sessionStorage.setItem(TOKEN, token);
  all.delete("token");
  history.replaceState(null, "", `#${all}`);
}

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

/** A value of the address. */
export function get(key: string, otherwise = ""): string {
  return parameters().get(key) ?? otherwise;
}

export function number(key: string, otherwise: number): number {
  const text = parameters().get(key);
  const value = text === null ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : otherwise;
}

/** Changes values of the address; what is empty goes away. */
export function set(values: Record<string, string | number | null>): void {
  const all = parameters();
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === "") all.delete(key);
    else all.set(key, String(value));
  }
  history.replaceState(null, "", `#${all}`);
}

/** A text, compressed so that an address can hold it. */
export async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What was packed; nothing if it is not that. */
export async function unpacked(text: string): Promise<string | null> {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await new Response(stream).text();
  } catch {
    return null;
  }
}
