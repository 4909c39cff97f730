/** Which rows are in sight. A thin adapter of @tanstack/virtual-core to Preact. */

import { elementScroll, measureElement, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Line } from "../generated/protocol";

/** In pixels, as in logs.css. */
export const LINE_HEIGHT = 20;

/** Nobody scrolls any more who has not for so long. */
const STILL = 150;

export type Rows = Virtualizer<HTMLDivElement, HTMLDivElement>;

type Moved = (offset: number, scrolling: boolean) => void;

/** Rows of equal height, unless they are measured one by one, which costs more. */
export function useRows(
  scroller: RefObject<HTMLDivElement | null>,
  rows: readonly Line[],
  version: number,
  measured: boolean,
): { rows: Rows; moved: (offset: number) => void } {
  const [, redraw] = useState(0);
  const listener = useRef<Moved>(undefined);
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
    observeElementOffset: (_: unknown, moved: Moved) => {
      listener.current = moved;
      return () => (listener.current = undefined);
    },
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
  const still = useStill(() => listener.current?.(scroller.current?.scrollTop ?? 0, false));
  const moved = (offset: number) => {
    listener.current?.(offset, true);
    still();
  };
  return { rows: virtualizer, moved };
}

/** Calls back once nobody has called for a while. One timer for many calls: there is one with every frame. */
function useStill(then: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef(0);
  useLayoutEffect(() => () => clearTimeout(timer.current), []);
  const wait = (rest: number) => {
    timer.current = setTimeout(() => {
      const left = last.current + STILL - performance.now();
      timer.current = undefined;
      if (left > 0) wait(left);
      else then();
    }, rest);
  };
  return () => {
    last.current = performance.now();
    if (timer.current === undefined) wait(STILL);
  };
}

/** Where a row begins, in pixels. */
export function startOf(rows: Rows, index: number): number {
  // Works out the places anew if the rows are others.
  rows.getTotalSize();
  return rows.measurementsCache[index]?.start ?? index * LINE_HEIGHT;
}
