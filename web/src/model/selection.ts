/** The resources that the reader has ticked, to do something with all of them at once. */

import { signal } from "@preact/signals";

export const selected = signal<ReadonlySet<string>>(new Set());

export function toggleSelected(name: string): void {
  const next = new Set(selected.peek());
  if (!next.delete(name)) next.add(name);
  selected.value = next;
}

/** Ticks all of them, or takes the ticks away if all have one. */
export function toggleAllSelected(names: readonly string[]): void {
  const next = new Set(selected.peek());
  const all = names.every((name) => next.has(name));
  for (const name of names) {
    if (all) next.delete(name);
    else next.add(name);
  }
  selected.value = next;
}

export function selectNone(): void {
  selected.value = new Set();
}
