/** Which resources the reader wants to see and in which order: on this page, in its address, and remembered. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";
import { tiltfileOrder, sortColumns, type SortOrder } from "./sortOrder";
import { overallStatuses, type OverallStatus } from "./status";

export const nameFilter = signal("");
/** Undefined: all. */
export const stateFilter = signal<OverallStatus | undefined>(undefined);

/** Counts the sorts: the same order once more sorts by how things are now. */
export const sortOrder = signal<SortOrder & { revision: number }>({ ...tiltfileOrder, revision: 0 });

/** Keys of the groups that are closed, in the overview and beside a log. */
export const collapsedGroups = signal<readonly string[]>(loadSetting("collapsed", []));

/** Switched off ones are many where a Tiltfile lets one choose. */
export const showDisabled = signal(loadSetting("disabled", true));

/** Beside a log, what fails comes first in its group. */
export const failingFirst = signal(loadSetting("failing-first", false));

export function setFailingFirst(first: boolean): void {
  failingFirst.value = first;
  saveSetting("failing-first", first);
}

export function setSortOrder(next: SortOrder): void {
  sortOrder.value = { ...next, revision: sortOrder.peek().revision + 1 };
}

export function toggleGroup(key: string): void {
  const current = collapsedGroups.peek();
  setCollapsedGroups(current.includes(key) ? current.filter((other) => other !== key) : [...current, key]);
}

export function setCollapsedGroups(keys: readonly string[]): void {
  collapsedGroups.value = keys;
  saveSetting("collapsed", keys);
}

export function setShowDisabled(shown: boolean): void {
  showDisabled.value = shown;
  saveSetting("disabled", shown);
}

export function matchesName(name: string): boolean {
  const text = nameFilter.value.trim().toLowerCase();
  return text === "" || name.toLowerCase().includes(text);
}

/** Takes over what the address of the overview says. */
export function readListSettings(search: string): void {
  const query = new URLSearchParams(search);
  const sort = query.get("sort") ?? "";
  const column = sortColumns.find((known) => known === sort.replace(/^-/, ""));
  nameFilter.value = query.get("filter") ?? "";
  stateFilter.value = overallStatuses.find((known) => known === query.get("state"));
  setSortOrder({ column, descending: column !== undefined && sort.startsWith("-") });
}

/** For the address of the overview. */
export function listSettingsQuery(): URLSearchParams {
  const query = new URLSearchParams();
  const { column, descending } = sortOrder.value;
  if (nameFilter.value !== "") query.set("filter", nameFilter.value);
  if (stateFilter.value) query.set("state", stateFilter.value);
  if (column) query.set("sort", `${descending ? "-" : ""}${column}`);
  return query;
}
