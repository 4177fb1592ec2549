// Gateway: gateways that are watched, and a configuration that is checked while it is typed.

import { type About, check, json } from "../api";
import { h } from "../dom";
import { Editor, said } from "../editor";
import type { Shown } from "../main";
import { Panel } from "./panel";
import type { Now } from "./told";

const EVERY_MS = 1000;

const EXAMPLE = `# Typed here, checked by this server as \`bentpipe gateway --check\` does. Nothing is stored and nothing is changed.
role = "terminal"
key = "/etc/bentpipe/key"
listen = "0.0.0.0:25300"

[peers.hub]
key = "ReplaceThisWithTheKeyThatTheOtherEndPrints0="
address = "192.0.2.1:25300"

[socks5]
listen = "127.0.0.1:1080"
`;

export async function gateway(about: About): Promise<Shown> {
  const panels = about.gateways.map((_, number) => new Panel(number));
  const none = h(
    "p",
    { class: "card" },
    "No gateway is watched. ",
    h("code", { text: "bentpipe serve --gateway 127.0.0.1:9100" }),
    " watches the one whose [ops] listens there; the option may be given several times.",
  );
  const verdict = h("p", { class: "note", role: "status" });
  const editor = new Editor("Configuration of a gateway, in TOML", (text) => void judge(text));
  let asked = 0;
  const judge = async (text: string) => {
    const mine = ++asked;
    const wrong = await check("gateway", text).catch((error: Error) => [{ message: error.message, line: null, key: null }]);
    if (mine !== asked) return;
    editor.mark(wrong);
    verdict.classList.toggle("bad", wrong.length > 0);
    verdict.textContent = wrong.length > 0 ? wrong.map(said).join("\n") : "configuration OK (its key file and user are checked where it runs)";
  };
  editor.text = EXAMPLE;
  void judge(EXAMPLE);
  const side = h("form", { class: "side", "aria-label": "Configuration check", on: { submit: (event) => event.preventDefault() } }, h("h2", { class: "small", text: "Check a configuration" }), editor.element, verdict);
  const element = h("div", { class: "split" }, side, h("section", { class: "stage", tabindex: 0, "aria-label": "Gateways" }, ...(panels.length > 0 ? panels.map((panel) => panel.element) : [none])));
  let timer = 0;
  let watched = false;
  // The next look begins when the last one is over.
  const look = async () => {
    try {
      const now = await json<Now[]>("gateways");
      await Promise.all(panels.map((panel, n) => (now[n] ? panel.show(now[n]) : undefined)));
    } catch (error) {
      panels.forEach((panel) => panel.lose(`This server does not answer: ${(error as Error).message}`));
    }
    if (watched) timer = window.setTimeout(() => void look(), EVERY_MS);
  };
  const seen = (shown: boolean) => {
    clearTimeout(timer);
    const begins = shown && !watched && panels.length > 0;
    watched = shown;
    if (begins) void look();
  };
  const close = () => {
    seen(false);
    editor.close();
    panels.forEach((panel) => panel.close());
  };
  return { element, seen, close };
}
