/** Renders only the visible rows: an adapter of @tanstack/virtual-core to Preact. */

import { elementScroll, measureElement, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Line } from "../generated/protocol";

/** In pixels, as in logs.css. */
export const LINE_HEIGHT = 20;

/** Scrolling has ended after this many milliseconds without a scroll event. */
const SCROLL_END_DELAY = 150;

export type VirtualRows = Virtualizer<HTMLDivElement, HTMLDivElement>;

type OffsetListener = (offset: number, scrolling: boolean) => void;

/** Rows have the same height unless they are measured one by one, which costs more. */
export function useVirtualRows(
  scroller: RefObject<HTMLDivElement | null>,
  rows: readonly Line[],
  version: number,
  measured: boolean,
): { virtualRows: VirtualRows; notifyScroll: (offset: number) => void } {
  const [, rerender] = useState(0);
  const offsetListener = useRef<OffsetListener>(undefined);
  // Keyed by line, so that a row keeps its height when others are added before it. A new function makes the
  // virtualizer recompute all positions.
  const getItemKey = useMemo(() => (index: number) => rows[index]?.seq ?? index, [rows, version]);
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current ?? null,
    getItemKey,
    estimateSize: () => LINE_HEIGHT,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    // Called by `notifyScroll`: a listener of the virtualizer would read the layout that ours has just invalidated.
    observeElementOffset: (_: unknown, moved: OffsetListener) => {
      offsetListener.current = moved;
      return () => (offsetListener.current = undefined);
    },
    measureElement,
    onChange: () => rerender((times) => times + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => {
    if (!measured) virtualizer.measure();
  }, [measured]);
  const scheduleScrollEnd = useScrollEnd(() =>
    offsetListener.current?.(scroller.current?.scrollTop ?? 0, false),
  );
  const notifyScroll = (offset: number) => {
    offsetListener.current?.(offset, true);
    scheduleScrollEnd();
  };
  return { virtualRows: virtualizer, notifyScroll };
}

/**
 * Returns a function to call with every scroll event; `onEnd` runs after the last one. Restarting a timer with every
 * frame would cost more than the one timer here.
 */
function useScrollEnd(onEnd: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const lastCallAt = useRef(0);
  useLayoutEffect(() => () => clearTimeout(timer.current), []);
  const wait = (delay: number) => {
    timer.current = setTimeout(() => {
      const remaining = lastCallAt.current + SCROLL_END_DELAY - performance.now();
      timer.current = undefined;
      if (remaining > 0) wait(remaining);
      else onEnd();
    }, delay);
  };
  return () => {
    lastCallAt.current = performance.now();
    if (timer.current === undefined) wait(SCROLL_END_DELAY);
  };
}

/** Returns the top of a row, in pixels. */
export function rowTop(rows: VirtualRows, index: number): number {
  // Recomputes the positions if the rows have changed.
  rows.getTotalSize();
  return rows.measurementsCache[index]?.start ?? index * LINE_HEIGHT;
}
