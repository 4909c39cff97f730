/** A long list a part at a time: what fits on the screen is seen before all of a thousand rows are there. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Group } from "../model/session";

/** With every frame. */
const MORE_ROWS = 150;

/** How many rows to draw: more with every frame until all are there. `left` is what was drawn before. */
export function useRoom(left: { rows: number }, wanted: number): number {
  const room = useSignal(left.rows);
  useEffect(() => {
    if (room.value >= wanted) return;
    const frame = requestAnimationFrame(() => (room.value += MORE_ROWS));
    return () => cancelAnimationFrame(frame);
  }, [room.value, wanted]);
  left.rows = Math.max(left.rows, Math.min(room.value, wanted));
  return room.value;
}

export function countOf(groups: readonly Group[]): number {
  return groups.reduce((sum, group) => sum + group.names.length, 0);
}

/** The first rows of all groups. */
export function cut(groups: readonly Group[], most: number): Group[] {
  let left = most;
  return groups
    .map((group) => {
      const names = group.names.slice(0, Math.max(0, left));
      left -= names.length;
      return { ...group, names, total: group.names.length };
    })
    .filter((group) => group.names.length > 0);
}
