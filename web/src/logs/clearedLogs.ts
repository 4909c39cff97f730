/** Up to which line each log was cleared. */

import { signal } from "@preact/signals";

/** By session and log: every session numbers its lines from the start. */
const clearedBefore = signal<ReadonlyMap<string, number>>(new Map());

/** `log` is the name of a resource, or `(all)` or `(starred)`. */
function logKey(session: string, log: string): string {
  return `${session}\n${log}`;
}

/** Returns the number of the first line that was not cleared. */
export function getClearedBefore(session: string, log: string): number {
  return clearedBefore.value.get(logKey(session, log)) ?? 0;
}

/** Clears the log up to a line number, or shows cleared lines again. */
export function toggleCleared(session: string, log: string, end: number): void {
  const next = new Map(clearedBefore.peek());
  const key = logKey(session, log);
  if (!next.delete(key)) next.set(key, end);
  clearedBefore.value = next;
}
