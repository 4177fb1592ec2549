// The colours of Okabe and Ito, which people with any colour vision tell apart.

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b", "#8a7a00"];
const DARK = ["#56b4e9", "#e69f00", "#1fc795", "#cc79a7", "#f0e442", "#4b9fe0", "#c8c8c8", "#f08a4b"];

const media = matchMedia("(prefers-color-scheme: dark)");
let chosen: boolean | null = null;

function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
}

/** As the reader chose, or else as the system has it. */
export function isDark(): boolean {
  return chosen ?? media.matches;
}

/** Follows the system, until the reader chooses. */
export function followSystem(): void {
  apply();
  media.addEventListener("change", apply);
}

/** Turns to the other of light and dark. */
export function turn(): void {
  chosen = !isDark();
  apply();
}

/** The colour of something by its number. */
export function colour(number: number): string {
  const all = isDark() ? DARK : LIGHT;
  return all[number % all.length] as string;
}

/** A colour of the page's style. */
export function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls when the colours change, until what it gives is called. */
export function onTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}
