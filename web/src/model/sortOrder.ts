/** The order of rows, which does not change while one reads: only when rows come or go, or the reader sorts anew. */

import type { UIResource } from "../generated/protocol";
import { runtimeStatus, updateStatus, type StatusShape } from "./status";

export const sortColumns = ["name", "update", "runtime", "updated", "duration"] as const;

export type SortColumn = (typeof sortColumns)[number];

export const columnLabels: Record<SortColumn, string> = {
  name: "Name",
  update: "Update",
  runtime: "Runtime",
  updated: "Last updated",
  duration: "Duration",
};

export interface SortOrder {
  /** None: as in the Tiltfile. */
  column: SortColumn | undefined;
  descending: boolean;
}

export const tiltfileOrder: SortOrder = { column: undefined, descending: false };

/** One click sorts, the next one turns it round, the third one ends it. */
export function nextSortOrder(current: SortOrder, column: SortColumn): SortOrder {
  if (current.column !== column) return { column, descending: false };
  return current.descending ? tiltfileOrder : { column, descending: true };
}

/** What needs attention first. */
const shapesByUrgency: readonly StatusShape[] = [
  "error",
  "busy",
  "starting",
  "waiting",
  "idle",
  "ok",
  "absent",
  "disabled",
];

/** Newest first; what has never been updated comes last. */
function ageRank({ status }: UIResource): number {
  const time =
    status.currentBuild?.startTime ?? status.buildHistory?.[0]?.finishTime ?? status.lastDeployTime;
  return time ? -Date.parse(time) : Infinity;
}

/** Longest first. */
function durationRank({ status }: UIResource): number {
  const { startTime, finishTime } = status.buildHistory?.[0] ?? {};
  return startTime && finishTime ? Date.parse(startTime) - Date.parse(finishTime) : Infinity;
}

function sortKey(column: SortColumn, resource: UIResource): number | string {
  switch (column) {
    case "name":
      return resource.metadata.name.toLowerCase();
    case "update":
      return shapesByUrgency.indexOf(updateStatus(resource).shape);
    case "runtime":
      return shapesByUrgency.indexOf(runtimeStatus(resource).shape);
    case "updated":
      return ageRank(resource);
    case "duration":
      return durationRank(resource);
  }
}

export function sortResources(
  names: readonly string[],
  order: SortOrder,
  find: (name: string) => UIResource | undefined,
): string[] {
  const { column, descending } = order;
  if (column === undefined) return [...names];
  const ranked = names.map((name, index) => {
    const resource = find(name);
    return { name, index, rank: resource ? sortKey(column, resource) : name.toLowerCase() };
  });
  ranked.sort((one, other) => {
    const comparison = one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0;
    return (descending ? -comparison : comparison) || one.index - other.index;
  });
  return ranked.map(({ name }) => name);
}
