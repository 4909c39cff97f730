/**
 * Renders only the rows near the viewport in full, and again with every change. The others show a name and a few
 * words: keyboard, page search and screen readers find all rows, but a thousand of them are a small document. When
 * many rows outside change at once, a few at a time are rerendered.
 */

import { batch, signal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

/** In pixels: rows that the next scroll step brings into view are rendered already. */
const MARGIN = 300;

/**
 * How often rows outside the viewport are refreshed, in milliseconds, and how many at once: a thousand in four
 * seconds.
 */
const REFRESH_INTERVAL = 100;
const REFRESH_BATCH = 25;

interface RowState {
  isNear: Signal<boolean>;
  revision: Signal<number>;
  /** Of the fully rendered row, in pixels; undefined if it never was. */
  height: number | undefined;
  isStale: () => boolean;
}

/** No row is lower than this. In pixels. */
const MIN_ROW_HEIGHT = 28;

const rowStates = new Map<Element, RowState>();
const scrollers = new Set<HTMLElement>();
let timer: ReturnType<typeof setInterval> | undefined;
let nextToRefresh = 0;
let isUpdateQueued = false;
let mountedRows = 0;

/**
 * Returns how many rows fit on the screen: the first rows count as near without a measurement, which would delay
 * them.
 */
export function rowsPerScreen(minHeight = MIN_ROW_HEIGHT): number {
  return Math.ceil(innerHeight / minHeight);
}

/** Updates before the next paint, once for all rows that are added and removed together. */
function queueUpdate(): void {
  if (isUpdateQueued || mountedRows <= rowsPerScreen()) return;
  isUpdateQueued = true;
  queueMicrotask(() => {
    isUpdateQueued = false;
    for (const scroller of scrollers) updateRows(scroller);
  });
}

function updateRows(scroller: HTMLElement): void {
  const rows = [...scroller.querySelectorAll("[data-near]")];
  const { top, bottom } = scroller.getBoundingClientRect();
  const from = indexBelow(rows, top - MARGIN);
  const until = indexBelow(rows, bottom + MARGIN);
  // All heights are read before the first change: a change would force another layout.
  const leaving = rows.filter(
    (row, index) => (index < from || index > until) && isRowNear(row) && !isInUse(row),
  );
  const measured = leaving.map((row) => row.getBoundingClientRect().height);
  batch(() => {
    leaving.forEach((row, index) => setFar(rowStates.get(row), measured[index]));
    for (const row of rows.slice(from, until + 1)) {
      const state = rowStates.get(row);
      if (state) state.isNear.value = true;
    }
  });
}

function isRowNear(row: Element): boolean {
  return rowStates.get(row)?.isNear.peek() === true;
}

/** Rows with the focus or an open menu stay rendered in full. */
function isInUse(row: Element): boolean {
  return row.contains(document.activeElement) || row.querySelector("details[open]") !== null;
}

function setFar(state: RowState | undefined, height: number | undefined): void {
  if (!state) return;
  state.height = height;
  state.isNear.value = false;
}

/** Returns the first row that ends below an offset. */
function indexBelow(rows: readonly Element[], offset: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.getBoundingClientRect().bottom ?? 0) > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

function refreshFarRows(): void {
  if (document.hidden || rowStates.size === 0) return;
  const states = [...rowStates.values()];
  batch(() => {
    for (let count = 0; count < Math.min(REFRESH_BATCH, states.length); count++) {
      const state = states[nextToRefresh++ % states.length];
      if (state && !state.isNear.peek() && state.isStale()) state.revision.value++;
    }
  });
}

function trackRow(element: Element, state: RowState): () => void {
  rowStates.set(element, state);
  queueUpdate();
  timer ??= setInterval(refreshFarRows, REFRESH_INTERVAL);
  return () => {
    rowStates.delete(element);
    queueUpdate();
    if (rowStates.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Tracks the viewport of the element in which the rows scroll. */
export function useViewportTracking(scroller: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const update = () => updateRows(element);
    const resizeObserver = new ResizeObserver(update);
    scrollers.add(element);
    resizeObserver.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      scrollers.delete(element);
      resizeObserver.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, []);
  // Rows may have moved.
  useLayoutEffect(queueUpdate);
}

/** Returns the value to render a row with: the current one near the viewport, otherwise one that may be outdated. */
export function useNearViewport<Value, Row extends HTMLElement>(
  source: Signal<Value> | undefined,
  /** The height of a row that was never rendered in full, in pixels; undefined for the usual height. */
  estimateHeight: (value: Value) => number | undefined = () => undefined,
) {
  const row = useRef<Row>(null);
  const renderedValue = useRef<Value | undefined>(undefined);
  const latestSource = useRef(source);
  latestSource.current = source;
  const state = useMemo<RowState>(
    () => ({
      isNear: signal(mountedRows++ < rowsPerScreen()),
      revision: signal(0),
      height: undefined,
      isStale: () => latestSource.current?.peek() !== renderedValue.current,
    }),
    [],
  );
  useLayoutEffect(() => {
    const untrack = row.current ? trackRow(row.current, state) : undefined;
    return () => {
      mountedRows--;
      untrack?.();
    };
  }, []);
  // Reading the signal subscribes: to every change, or to the refreshes of far rows.
  const isNear = state.isNear.value;
  const value = isNear ? source?.value : state.revision.value >= 0 ? source?.peek() : undefined;
  renderedValue.current = value;
  // Keeps the height it had, so that nothing moves.
  const height = isNear || value === undefined ? undefined : (state.height ?? estimateHeight(value));
  const style = height === undefined ? undefined : { height: `${height}px` };
  return { value, isNear, row, style };
}
