/** Which rows are in sight. A thin adapter of @tanstack/virtual-core to Preact. */

import { elementScroll, measureElement, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Line } from "../generated/protocol";

/** In pixels, as in logs.css. */
export const LINE_HEIGHT = 20;

/** Nobody scrolls any more who has not for so long. */
const SCROLL_END_DELAY = 150;

export type VirtualRows = Virtualizer<HTMLDivElement, HTMLDivElement>;

type OffsetListener = (offset: number, scrolling: boolean) => void;

/** Rows of equal height, unless they are measured one by one, which costs more. */
export function useVirtualRows(
  scroller: RefObject<HTMLDivElement | null>,
  rows: readonly Line[],
  version: number,
  measured: boolean,
): { rows: VirtualRows; moved: (offset: number) => void } {
  const [, rerender] = useState(0);
  const listener = useRef<OffsetListener>(undefined);
  // A row keeps its height when others come before it. The same function as long as the rows are the same: with another
  // one all places are worked out anew.
  const getItemKey = useMemo(() => (index: number) => rows[index]?.seq ?? index, [rows, version]);
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current ?? null,
    getItemKey,
    estimateSize: () => LINE_HEIGHT,
    overscan: 6,
    scrollToFn: elementScroll,
    observeElementRect,
    // It is told by `moved`: with a listener of its own it would look at a document that ours has just changed.
    observeElementOffset: (_: unknown, moved: OffsetListener) => {
      listener.current = moved;
      return () => (listener.current = undefined);
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
  const scheduleScrollEnd = useScrollEnd(() => listener.current?.(scroller.current?.scrollTop ?? 0, false));
  const moved = (offset: number) => {
    listener.current?.(offset, true);
    scheduleScrollEnd();
  };
  return { rows: virtualizer, moved };
}

/** Calls back once nobody has called for a while. One timer for many calls: there is one with every frame. */
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

/** Where a row begins, in pixels. */
export function rowTop(rows: VirtualRows, index: number): number {
  // Works out the places anew if the rows are others.
  rows.getTotalSize();
  return rows.measurementsCache[index]?.start ?? index * LINE_HEIGHT;
}
