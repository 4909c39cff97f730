/**
 * The order of rows. Rows are sorted when some are added or removed and when the user sorts, not with every change.
 */

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
  /** Undefined is the order of the Tiltfile. */
  column: SortColumn | undefined;
  descending: boolean;
}

export const tiltfileOrder: SortOrder = { column: undefined, descending: false };

/** Returns the order after a click on a column: ascending, descending, then the Tiltfile's order. */
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

/** Newest first; resources that were never updated come last. */
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
  ranked.sort((a, b) => {
    const comparison = a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0;
    return (descending ? -comparison : comparison) || a.index - b.index;
  });
  return ranked.map(({ name }) => name);
}
