/** What of each log was cleared away. */

import { signal } from "@preact/signals";

/** Lines are counted anew by each session: a number of one means nothing in another. */
const clearedBefore = signal<ReadonlyMap<string, number>>(new Map());

/** `log` is whose it is: a resource's name, or what the log of several is called. */
function logKey(session: string, log: string): string {
  return `${session}\n${log}`;
}

/** Lines before this number are hidden. */
export function getClearedBefore(session: string, log: string): number {
  return clearedBefore.value.get(logKey(session, log)) ?? 0;
}

/** Hides what there is up to a number, or shows again what was hidden. */
export function toggleCleared(session: string, log: string, end: number): void {
  const next = new Map(clearedBefore.peek());
  const key = logKey(session, log);
  if (!next.delete(key)) next.set(key, end);
  clearedBefore.value = next;
}
