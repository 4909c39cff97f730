/** The resources that the reader has ticked, to do something with all of them at once. */

import { signal } from "@preact/signals";

export const selection = signal<ReadonlySet<string>>(new Set());

export function toggleSelected(name: string): void {
  const next = new Set(selection.peek());
  if (!next.delete(name)) next.add(name);
  selection.value = next;
}

/** Ticks all of them, or takes the ticks away if all have one. */
export function toggleAllSelected(names: readonly string[]): void {
  const next = new Set(selection.peek());
  const allSelected = names.every((name) => next.has(name));
  for (const name of names) {
    if (allSelected) next.delete(name);
    else next.add(name);
  }
  selection.value = next;
}

export function clearSelection(): void {
  selection.value = new Set();
}
