/** The order of rows, which does not change while one reads: only when rows come or go, or the reader sorts anew. */

import type { UIResource } from "../generated/protocol";
import { runtimeStatus, updateStatus, type Shape } from "./status";

export const columns = ["name", "update", "runtime", "updated", "duration"] as const;

export type Column = (typeof columns)[number];

export const columnWords: Record<Column, string> = {
  name: "Name",
  update: "Update",
  runtime: "Runtime",
  updated: "Last updated",
  duration: "Duration",
};

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

/** What needs attention first. */
const shapes: readonly Shape[] = ["error", "busy", "starting", "waiting", "idle", "ok", "absent", "disabled"];

/** Newest first; what has never been updated comes last. */
function newness({ status }: UIResource): number {
  const time =
    status.currentBuild?.startTime ?? status.buildHistory?.[0]?.finishTime ?? status.lastDeployTime;
  return time ? -Date.parse(time) : Infinity;
}

/** Longest first. */
function length({ status }: UIResource): number {
  const { startTime, finishTime } = status.buildHistory?.[0] ?? {};
  return startTime && finishTime ? Date.parse(startTime) - Date.parse(finishTime) : Infinity;
}

function rankIn(column: Column, resource: UIResource): number | string {
  switch (column) {
    case "name":
      return resource.metadata.name.toLowerCase();
    case "update":
      return shapes.indexOf(updateStatus(resource).shape);
    case "runtime":
      return shapes.indexOf(runtimeStatus(resource).shape);
    case "updated":
      return newness(resource);
    case "duration":
      return length(resource);
  }
}

export function sorted(
  names: readonly string[],
  order: Order,
  find: (name: string) => UIResource | undefined,
): string[] {
  const { column, descending } = order;
  if (column === undefined) return [...names];
  const ranked = names.map((name, index) => {
    const resource = find(name);
    return { name, index, rank: resource ? rankIn(column, resource) : name.toLowerCase() };
  });
  ranked.sort((one, other) => {
    const by = one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0;
    return (descending ? -by : by) || one.index - other.index;
  });
  return ranked.map(({ name }) => name);
}
