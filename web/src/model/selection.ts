/** The resources that are selected for an action on several at once. */

import { signal } from "@preact/signals";

export const selection = signal<ReadonlySet<string>>(new Set());

export function toggleSelected(name: string): void {
  const next = new Set(selection.peek());
  if (!next.delete(name)) next.add(name);
  selection.value = next;
}

/** Selects all of them, or none if all are selected. */
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
