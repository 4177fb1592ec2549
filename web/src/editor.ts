// An editor of TOML. It lives in a shadow root, where its styles are constructed and not written into the page, as the
// page's policy wants it.

import { autocompletion, closeBrackets, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Wrong } from "./api";
import { h } from "./dom";

const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "var(--field)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, 'Liberation Mono', monospace", lineHeight: "18px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selected) !important" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: 0.8 },
});

const INKS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--faint)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
    { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
    { tag: [tags.propertyName, tags.definition(tags.variableName)], color: "var(--key)" },
  ]),
);

/** Time without a key until what was typed is told. */
const STILL_MS = 350;

export class Editor {
  readonly element: HTMLElement;
  private readonly view: EditorView;
  private timer = 0;

  constructor(label: string, changed: (text: string) => void, complete?: CompletionSource) {
    this.element = h("div", { class: "editor" });
    const root = this.element.attachShadow({ mode: "open" });
    const told = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => changed(this.text), STILL_MS);
    });
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          lintGutter(),
          StreamLanguage.define(toml),
          autocompletion(complete ? { override: [complete] } : { override: [] }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          LOOK,
          INKS,
          told,
        ],
      }),
    });
    // Who has no mouse scrolls it as well.
    this.view.scrollDOM.tabIndex = 0;
  }

  close(): void {
    clearTimeout(this.timer);
    this.view.destroy();
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Only what differs is changed: the cursor of somebody who types stays where it is. */
  set text(text: string) {
    this.view.dispatch({ changes: difference(this.text, text.replaceAll(/\r\n?/g, "\n")) });
    clearTimeout(this.timer);
  }

  /** Marks what is wrong where it stands. */
  mark(wrong: readonly Wrong[]): void {
    const { doc } = this.view.state;
    // What stands at no place of the text is told beside it.
    const placed = wrong.filter(({ line, key }) => line !== null || key !== null);
    const marks = placed.map((one): Diagnostic => ({ ...place(doc, one), severity: "error", message: said(one) }));
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }
}

/** The part of a text that is another one in a new text. */
function difference(old: string, now: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(old.length, now.length);
  let from = 0;
  while (from < shorter && old[from] === now[from]) from++;
  let behind = 0;
  while (behind < shorter - from && old.at(-1 - behind) === now.at(-1 - behind)) behind++;
  return { from, to: old.length - behind, insert: now.slice(from, now.length - behind) };
}

/** Where something wrong stands: its line, or that of its key, or the first one. */
function place(doc: Text, { line, key }: Wrong): { from: number; to: number } {
  const { from, to } = doc.line(Math.min(line ?? (key === null ? null : lineOf(doc, key)) ?? 1, doc.lines));
  return { from, to };
}

/** The line on which a key stands, or else the table that it would stand in. */
function lineOf(doc: Text, key: string): number | null {
  let table = "";
  let best: number | null = null;
  for (let n = 1; n <= doc.lines; n++) {
    const text = doc.line(n).text.trim();
    const header = /^\[+([^\]]+)\]/.exec(text)?.[1];
    const name = /^([\w.-]+)\s*=/.exec(text)?.[1];
    if (header !== undefined) table = `${header.trim()}.`;
    const here = header !== undefined ? header.trim() : name === undefined ? null : table + name;
    if (here === key) return n;
    if (here !== null && key.startsWith(`${here}.`)) best = n;
  }
  return best;
}

/** What is wrong, in a line. */
export function said({ line, key, message }: Wrong): string {
  const where = [line === null ? "" : `line ${line}`, key === null ? "" : `${key}`].filter(Boolean).join(", ");
  return where === "" ? message : `${where}: ${message}`;
}
