/**
 * Which rows are near what is in sight. Only these are drawn whole, and anew with every change. The others are a name and
 * a few words: all are there for keys, for the browser's own search and for those who listen, but a thousand of them are
 * a small document. When many of those change at once, a few of them at a time are drawn anew.
 */

import { batch, signal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

/** In pixels: what the next turn of a wheel brings into sight is drawn already. */
const MARGIN = 300;

/** Between two looks at rows out of sight, and how many of them are looked at: a thousand within four seconds. */
const REFRESH_INTERVAL = 100;
const REFRESH_BATCH = 25;

interface RowState {
  isNear: Signal<boolean>;
  revision: Signal<number>;
  /** Of the whole row, in pixels; undefined: never seen. */
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

/** The first rows are in sight when they come: they are seen sooner if nobody has to look where they are. */
export function rowsPerScreen(minHeight = MIN_ROW_HEIGHT): number {
  return Math.ceil(innerHeight / minHeight);
}

/** Before the browser draws next, and once for all rows that come and go together. */
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
  // All heights before the first change: a change would make the browser work out the places anew.
  const leaving = rows.filter(
    (row, index) => (index < from || index > until) && isRowNear(row) && !isInUse(row),
  );
  const measured = leaving.map((row) => row.getBoundingClientRect().height);
  batch(() => {
    leaving.forEach((row, index) => setFar(rowStates.get(row), measured[index]));
    for (const row of rows.slice(from, until + 1)) {
      const found = rowStates.get(row);
      if (found) found.isNear.value = true;
    }
  });
}

function isRowNear(row: Element): boolean {
  return rowStates.get(row)?.isNear.peek() === true;
}

/** What has the focus, or an open menu, stays. */
function isInUse(row: Element): boolean {
  return row.contains(document.activeElement) || row.querySelector("details[open]") !== null;
}

function setFar(row: RowState | undefined, height: number | undefined): void {
  if (!row) return;
  row.height = height;
  row.isNear.value = false;
}

/** The first row that ends below a height. */
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
  const all = [...rowStates.values()];
  batch(() => {
    for (let count = 0; count < Math.min(REFRESH_BATCH, all.length); count++) {
      const row = all[nextToRefresh++ % all.length];
      if (row && !row.isNear.peek() && row.isStale()) row.revision.value++;
    }
  });
}

function trackRow(element: Element, row: RowState): () => void {
  rowStates.set(element, row);
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

/** For what the rows scroll in. */
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
  // Rows may have changed places.
  useLayoutEffect(queueUpdate);
}

/** The value to draw a row with: as it is now if the row is near, else as it was when there was time. */
export function useNearViewport<Value, Row extends HTMLElement>(
  source: Signal<Value> | undefined,
  /** How high a row will be that was never seen, in pixels; undefined: as most of them. */
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
  // Subscribes to the one or the other.
  const isNear = state.isNear.value;
  const value = isNear ? source?.value : state.revision.value >= 0 ? source?.peek() : undefined;
  renderedValue.current = value;
  // As high as it was, so that nothing moves.
  const height = isNear || value === undefined ? undefined : (state.height ?? estimateHeight(value));
  const style = height === undefined ? undefined : { height: `${height}px` };
  return { value, isNear, row, style };
}
