/** A long list a part at a time: what fits on the screen is seen before all of a thousand rows are there. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Group } from "../model/session";

/** With every frame. */
const ROWS_PER_FRAME = 150;

/** How many rows to draw: more with every frame until all are there. `left` is what was drawn before. */
export function useProgressiveRows(previous: { rows: number }, total: number): number {
  const limit = useSignal(previous.rows);
  useEffect(() => {
    if (limit.value >= total) return;
    const frame = requestAnimationFrame(() => (limit.value += ROWS_PER_FRAME));
    return () => cancelAnimationFrame(frame);
  }, [limit.value, total]);
  previous.rows = Math.max(previous.rows, Math.min(limit.value, total));
  return limit.value;
}

export function countRows(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + group.names.length, 0);
}

/** The first rows of all groups. */
export function limitRows(groups: readonly Group[], limit: number): Group[] {
  let remaining = limit;
  return groups
    .map((group) => {
      const names = group.names.slice(0, Math.max(0, remaining));
      remaining -= names.length;
      return { ...group, names, total: group.names.length };
    })
    .filter((group) => group.names.length > 0);
}
