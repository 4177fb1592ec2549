// Shades of cells: the same hue, the more the larger the value.

/** Shades an element by a share from 0 to 1; the text on it stays readable in light and dark. */
export function shade(element: HTMLElement, share: number): void {
  element.style.setProperty("--share", `${Math.round(4 + 34 * Math.max(0, Math.min(1, share)))}%`);
}
