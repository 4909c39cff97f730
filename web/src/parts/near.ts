/**
 * Which rows are in sight. These are drawn anew with every change; the others, when a thousand of them change at once,
 * a few at a time, so that the page answers all the while.
 */

import { batch, signal, type Signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

/** Between two looks at rows out of sight, and how many of them are looked at: a thousand within two seconds. */
const PAUSE = 100;
const AT_ONCE = 50;

interface Watched {
  near: Signal<boolean>;
  turn: Signal<number>;
  isStale: () => boolean;
}

const watched = new Map<Element, Watched>();
let observer: IntersectionObserver | undefined;
let timer: ReturnType<typeof setInterval> | undefined;
let place = 0;

function see(entries: readonly IntersectionObserverEntry[]): void {
  batch(() => {
    for (const { target, isIntersecting } of entries) {
      const found = watched.get(target);
      if (found) found.near.value = isIntersecting;
    }
  });
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
  // A little before they are in sight.
  observer ??= new IntersectionObserver(see, { rootMargin: "300px 0px" });
  watched.set(element, row);
  observer.observe(element);
  timer ??= setInterval(catchUp, PAUSE);
  return () => {
    observer?.unobserve(element);
    watched.delete(element);
    if (watched.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The value to draw a row with: as it is now if the row is in sight, else as it was when there was time. */
export function useNear<Value>(held: Signal<Value> | undefined): {
  value: Value | undefined;
  near: boolean;
  row: { current: HTMLTableRowElement | null };
} {
  const row = useRef<HTMLTableRowElement>(null);
  const drawn = useRef<Value | undefined>(undefined);
  const newest = useRef(held);
  newest.current = held;
  const own = useMemo<Watched>(
    () => ({
      near: signal(false),
      turn: signal(0),
      isStale: () => newest.current?.peek() !== drawn.current,
    }),
    [],
  );
  useLayoutEffect(() => (row.current ? watch(row.current, own) : undefined), []);
  // Subscribes to the one or the other.
  const value = own.near.value ? held?.value : own.turn.value >= 0 ? held?.peek() : undefined;
  drawn.current = value;
  return { value, near: own.near.value, row };
}
