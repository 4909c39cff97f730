/**
 * Which resources the page lists and in which order: kept in signals, in the URL of the overview, and in saved
 * settings.
 */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";
import { tiltfileOrder, sortColumns, type SortOrder } from "./sortOrder";
import { overallStatuses, type OverallStatus } from "./status";

export const nameFilter = signal("");
/** Undefined shows all. */
export const statusFilter = signal<OverallStatus | undefined>(undefined);

/** `revision` counts the sorts: choosing the same order again sorts by the current values. */
export const sortOrder = signal<SortOrder & { revision: number }>({ ...tiltfileOrder, revision: 0 });

/** Keys of the collapsed groups, in the overview and in the sidebar. */
export const collapsedGroups = signal<readonly string[]>(loadSetting("collapsed", []));

/** Disabled resources can be many, where a Tiltfile lets the user choose what to run. */
export const showDisabled = signal(loadSetting("disabled", true));

/** Whether failing resources come first within their group of the sidebar. */
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

/** Applies the query string of the overview's URL. */
export function readListSettings(search: string): void {
  const query = new URLSearchParams(search);
  const sort = query.get("sort") ?? "";
  const column = sortColumns.find((name) => name === sort.replace(/^-/, ""));
  nameFilter.value = query.get("filter") ?? "";
  statusFilter.value = overallStatuses.find((status) => status === query.get("state"));
  setSortOrder({ column, descending: column !== undefined && sort.startsWith("-") });
}

/** Returns the query string for the overview's URL. */
export function listSettingsQuery(): URLSearchParams {
  const query = new URLSearchParams();
  const { column, descending } = sortOrder.value;
  if (nameFilter.value !== "") query.set("filter", nameFilter.value);
  if (statusFilter.value) query.set("state", statusFilter.value);
  if (column) query.set("sort", `${descending ? "-" : ""}${column}`);
  return query;
}
