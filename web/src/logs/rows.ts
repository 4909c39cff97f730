/** Which rows are in sight. A thin adapter of @tanstack/virtual-core to Preact. */

import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Line } from "../generated/protocol";

/** In pixels, as in logs.css. */
export const LINE_HEIGHT = 20;

export type Rows = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** Rows of equal height, unless they are measured one by one, which costs more. */
export function useRows(
  scroller: RefObject<HTMLDivElement | null>,
  rows: readonly Line[],
  measured: boolean,
): Rows {
  const [, redraw] = useState(0);
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current ?? null,
    // A row keeps its height when others come before it.
    getItemKey: (index: number) => rows[index]?.seq ?? index,
    estimateSize: () => LINE_HEIGHT,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    measureElement,
    onChange: () => redraw((times) => times + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => {
    if (!measured) virtualizer.measure();
  }, [measured]);
  return virtualizer;
}

/** Where a row begins, in pixels. */
export function startOf(rows: Rows, index: number): number {
  // Works out the places anew if the rows are others.
  rows.getTotalSize();
  return rows.measurementsCache[index]?.start ?? index * LINE_HEIGHT;
}
