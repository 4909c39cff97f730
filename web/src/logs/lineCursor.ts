/** The line that keys are about. */

import type { Line } from "../generated/protocol";
import type { VisibleRange } from "./LogLines";
import { findRowIndex } from "./logWindow";

/** The row that a step leads to. Whoever has gone elsewhere since the last step begins with what is in sight. */
export function nextCursorIndex(
  rows: readonly Line[],
  current: number | undefined,
  seen: VisibleRange,
  by: 1 | -1,
): number {
  const isVisible = current !== undefined && current >= seen.first && current <= seen.last;
  const at = isVisible ? findRowIndex(rows, current) : -1;
  if (at >= 0 && rows[at]?.seq === current) return Math.min(Math.max(at + by, 0), rows.length - 1);
  return Math.max(0, findRowIndex(rows, by > 0 ? seen.first : seen.last));
}
