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
const PAUSE = 100;
const AT_ONCE = 25;

interface Watched {
  near: Signal<boolean>;
  turn: Signal<number>;
  /** Of the whole row, in pixels; undefined: never seen. */
  height: number | undefined;
  isStale: () => boolean;
}

/** No row is lower than this. In pixels. */
const LOWEST = 28;

const watched = new Map<Element, Watched>();
const scrollers = new Set<HTMLElement>();
let timer: ReturnType<typeof setInterval> | undefined;
let place = 0;
let looking = false;
let made = 0;

/** The first rows are in sight when they come: they are seen sooner if nobody has to look where they are. */
export function screenful(lowest = LOWEST): number {
  return Math.ceil(innerHeight / lowest);
}

/** Before the browser draws next, and once for all rows that come and go together. */
function lookSoon(): void {
  if (looking || made <= screenful()) return;
  looking = true;
  queueMicrotask(() => {
    looking = false;
    for (const scroller of scrollers) look(scroller);
  });
}

function look(scroller: HTMLElement): void {
  const rows = [...scroller.querySelectorAll("[data-near]")];
  const { top, bottom } = scroller.getBoundingClientRect();
  const from = indexBelow(rows, top - MARGIN);
  const until = indexBelow(rows, bottom + MARGIN);
  // All heights before the first change: a change would make the browser work out the places anew.
  const far = rows.filter((row, index) => (index < from || index > until) && isWhole(row) && !isInUse(row));
  const heights = far.map((row) => row.getBoundingClientRect().height);
  batch(() => {
    far.forEach((row, index) => leave(watched.get(row), heights[index]));
    for (const row of rows.slice(from, until + 1)) {
      const found = watched.get(row);
      if (found) found.near.value = true;
    }
  });
}

function isWhole(row: Element): boolean {
  return watched.get(row)?.near.peek() === true;
}

/** What has the focus, or an open menu, stays. */
function isInUse(row: Element): boolean {
  return row.contains(document.activeElement) || row.querySelector("details[open]") !== null;
}

function leave(row: Watched | undefined, height: number | undefined): void {
  if (!row) return;
  row.height = height;
  row.near.value = false;
}

/** The first row that ends below a height. */
function indexBelow(rows: readonly Element[], height: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.getBoundingClientRect().bottom ?? 0) > height) high = middle;
    else low = middle + 1;
  }
  return low;
}

function catchUp(): void {
  if (document.hidden || watched.size === 0) return;
  const all = [...watched.values()];
  batch(() => {
    for (let count = 0; count < Math.min(AT_ONCE, all.length); count++) {
      const row = all[place++ % all.length];
      if (row && !row.near.peek() && row.isStale()) row.turn.value++;
    }
  });
}

function watch(element: Element, row: Watched): () => void {
  watched.set(element, row);
  lookSoon();
  timer ??= setInterval(catchUp, PAUSE);
  return () => {
    watched.delete(element);
    lookSoon();
    if (watched.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** For what the rows scroll in. */
export function useSight(scroller: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const see = () => look(element);
    const resized = new ResizeObserver(see);
    scrollers.add(element);
    resized.observe(element);
    element.addEventListener("scroll", see, { passive: true });
    return () => {
      scrollers.delete(element);
      resized.disconnect();
      element.removeEventListener("scroll", see);
    };
  }, []);
  // Rows may have changed places.
  useLayoutEffect(lookSoon);
}

/** The value to draw a row with: as it is now if the row is near, else as it was when there was time. */
export function useNear<Value, Row extends HTMLElement>(
  held: Signal<Value> | undefined,
  /** How high a row will be that was never seen, in pixels; undefined: as most of them. */
  guess: (value: Value) => number | undefined = () => undefined,
) {
  const row = useRef<Row>(null);
  const drawn = useRef<Value | undefined>(undefined);
  const newest = useRef(held);
  newest.current = held;
  const own = useMemo<Watched>(
    () => ({
      near: signal(made++ < screenful()),
      turn: signal(0),
      height: undefined,
      isStale: () => newest.current?.peek() !== drawn.current,
    }),
    [],
  );
  useLayoutEffect(() => {
    const leave = row.current ? watch(row.current, own) : undefined;
    return () => {
      made--;
      leave?.();
    };
  }, []);
  // Subscribes to the one or the other.
  const near = own.near.value;
  const value = near ? held?.value : own.turn.value >= 0 ? held?.peek() : undefined;
  drawn.current = value;
  // As high as it was, so that nothing moves.
  const height = near || value === undefined ? undefined : (own.height ?? guess(value));
  const style = height === undefined ? undefined : { height: `${height}px` };
  return { value, near, row, style };
}
