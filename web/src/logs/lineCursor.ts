/** The current line of a log, which the arrow keys move. */

import type { Line } from "../generated/protocol";
import type { VisibleRange } from "./LogLines";
import { findRowIndex } from "./logWindow";

/** Returns the index of the next current row. If the current line is not visible, starts at a visible one. */
export function nextCursorIndex(
  rows: readonly Line[],
  current: number | undefined,
  visible: VisibleRange,
  by: 1 | -1,
): number {
  const isVisible = current !== undefined && current >= visible.first && current <= visible.last;
  const index = isVisible ? findRowIndex(rows, current) : -1;
  if (index >= 0 && rows[index]?.seq === current) return Math.min(Math.max(index + by, 0), rows.length - 1);
  return Math.max(0, findRowIndex(rows, by > 0 ? visible.first : visible.last));
}
