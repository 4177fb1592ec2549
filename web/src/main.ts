// The page: four tabs, of which one is shown.

import { type About, json } from "./api";
import { followSystem, turn } from "./colours";
import { h } from "./dom";
import { get, set, takeToken } from "./state";
import "./style.css";

/** A tab: what it is called, and how it is built when it is shown for the first time. */
interface Tab {
  name: string;
  title: string;
  build: (about: About) => Promise<Shown>;
}

/** What is in a tab. */
export interface Shown {
  element: HTMLElement;
  /** It is seen again, or no longer. */
  seen?: (seen: boolean) => void;
  /** It will not be seen again: what it holds goes. */
  close?: () => void;
}

const TABS: Tab[] = [
  { name: "sky", title: "Sky", build: async (about) => (await import("./sky/tab")).sky(about) },
  { name: "run", title: "Run", build: async (about) => (await import("./run/tab")).run(about) },
  { name: "compare", title: "Compare", build: async (about) => (await import("./compare/tab")).compare(about) },
  { name: "gateway", title: "Gateway", build: async (about) => (await import("./gateway/tab")).gateway(about) },
];

class Page {
  private readonly panels = new Map<string, Promise<Shown>>();
  private readonly main = h("main", { id: "main" });
  private readonly buttons: HTMLButtonElement[];
  private shown: Shown | null = null;
  private current = "";

  constructor(private readonly about: About) {
    this.buttons = TABS.map((tab) =>
      h("button", {
        type: "button",
        role: "tab",
        id: `tab-${tab.name}`,
        "aria-controls": "main",
        text: tab.title,
        on: { click: () => void this.open(tab.name), keydown: (event) => this.move(event) },
      }),
    );
    const theme = h("button", { type: "button", class: "quiet", "aria-label": "Light or dark", title: "Light or dark", text: "◐", on: { click: turn } });
    document.body.append(
      h(
        "header",
        { class: "top" },
        h("strong", { class: "name", text: "Bentpipe" }),
        h("div", { role: "tablist", "aria-label": "What is shown" }, ...this.buttons),
        h("span", { class: "faint version", text: about.version }),
        theme,
      ),
      this.main,
    );
    this.main.setAttribute("role", "tabpanel");
    // Another address is another view: nothing of before is in it.
    addEventListener("hashchange", () => {
      takeToken();
      for (const panel of this.panels.values()) void panel.then((shown) => shown.close?.()).catch(() => {});
      this.panels.clear();
      this.current = "";
      void this.open(get("tab", "sky"));
    });
  }

  /** Shows a tab. */
  async open(name: string): Promise<void> {
    const tab = TABS.find((tab) => tab.name === name) ?? (TABS[0] as Tab);
    if (this.current === tab.name) return;
    this.current = tab.name;
    set({ tab: tab.name });
    this.buttons.forEach((button, n) => {
      const chosen = TABS[n] === tab;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
    this.main.setAttribute("aria-labelledby", `tab-${tab.name}`);
    document.title = `${tab.title} · Bentpipe`;
    const building = this.panels.get(tab.name) ?? tab.build(this.about);
    this.panels.set(tab.name, building);
    const shown = await building.catch((error: Error): Shown => {
      // It is tried again when the tab is opened again.
      this.panels.delete(tab.name);
      return { element: h("p", { class: "alone", role: "alert", text: error.message }) };
    });
    if (this.current !== tab.name || (this.panels.has(tab.name) && this.panels.get(tab.name) !== building)) return;
    this.shown?.seen?.(false);
    this.shown = shown;
    this.main.replaceChildren(shown.element);
    shown.seen?.(true);
  }

  private move(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const here = TABS.findIndex((tab) => tab.name === this.current);
    const next = (here + step + TABS.length) % TABS.length;
    this.buttons[next]?.focus();
    void this.open((TABS[next] as Tab).name);
  }
}

async function start(): Promise<void> {
  followSystem();
  takeToken();
  try {
    const page = new Page(await json<About>("about"));
    await page.open(get("tab", "sky"));
  } catch (error) {
    document.body.append(h("p", { class: "alone", role: "alert", text: error instanceof Error ? error.message : String(error) }));
  }
}

void start();
