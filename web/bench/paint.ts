import type { Page } from "@playwright/test";

/** When the first content was painted, in ms since the page was asked for. */
export async function firstPaint(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((done) => {
        const paints = new PerformanceObserver((list) => {
          const [paint] = list.getEntriesByName("first-contentful-paint");
          if (paint !== undefined) done(paint.startTime);
        });
        // Also where it was painted before anybody asked.
        paints.observe({ type: "paint", buffered: true });
      }),
  );
}
