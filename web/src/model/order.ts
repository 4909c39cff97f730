/** The order of rows, which does not change while one reads: only when rows come or go, or the reader sorts anew. */

import type { UIResource } from "../generated/protocol";
import { overall, overalls, runtimeStatus } from "./status";

export type Column = "name" | "update" | "runtime";

export interface Order {
  /** None: as in the Tiltfile. */
  column: Column | undefined;
  descending: boolean;
}

export const asDeclared: Order = { column: undefined, descending: false };

/** One click sorts, the next one turns it round, the third one ends it. */
export function nextOrder(now: Order, column: Column): Order {
  if (now.column !== column) return { column, descending: false };
  return now.descending ? asDeclared : { column, descending: true };
}

const shapes = ["error", "busy", "waiting", "idle", "ok", "absent"];

export function sorted(
  names: readonly string[],
  order: Order,
  find: (name: string) => UIResource | undefined,
): string[] {
  const { column, descending } = order;
  if (column === undefined) return [...names];
  const rank = (name: string): number | string => {
    const resource = find(name);
    if (column === "name" || !resource) return name.toLowerCase();
    if (column === "update") return overalls.indexOf(overall(resource));
    return shapes.indexOf(runtimeStatus(resource).shape);
  };
  const ranked = names.map((name, index) => ({ name, index, rank: rank(name) }));
  ranked.sort((one, other) => {
    const by = one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0;
    return (descending ? -by : by) || one.index - other.index;
  });
  return ranked.map(({ name }) => name);
}
