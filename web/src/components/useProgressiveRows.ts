/** Renders a long list in steps: the first screen appears before all of a thousand rows are rendered. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Group } from "../model/session";

/** Added with every frame. */
const ROWS_PER_FRAME = 150;

/**
 * Returns how many rows to render, growing with every frame up to `total`. `previous` keeps the number over unmounts.
 */
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

/** Returns the first `limit` rows of all groups together. */
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
