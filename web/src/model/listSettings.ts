/** Which resources the reader wants to see and in which order: on this page, in its address, and remembered. */

import { signal } from "@preact/signals";
import { recall, remember } from "./savedSettings";
import { asDeclared, columns, type Order } from "./sortOrder";
import { overalls, type Overall } from "./status";

export const nameFilter = signal("");
/** Undefined: all. */
export const stateFilter = signal<Overall | undefined>(undefined);

/** Counts the sorts: the same order once more sorts by how things are now. */
export const order = signal<Order & { turn: number }>({ ...asDeclared, turn: 0 });

/** Keys of the groups that are closed, in the overview and beside a log. */
export const collapsed = signal<readonly string[]>(recall("collapsed", []));

/** Switched off ones are many where a Tiltfile lets one choose. */
export const showDisabled = signal(recall("disabled", true));

/** Beside a log, what fails comes first in its group. */
export const failingFirst = signal(recall("failing-first", false));

export function setFailingFirst(first: boolean): void {
  failingFirst.value = first;
  remember("failing-first", first);
}

export function sortBy(wanted: Order): void {
  order.value = { ...wanted, turn: order.peek().turn + 1 };
}

export function toggleGroup(key: string): void {
  const now = collapsed.peek();
  collapse(now.includes(key) ? now.filter((other) => other !== key) : [...now, key]);
}

export function collapse(keys: readonly string[]): void {
  collapsed.value = keys;
  remember("collapsed", keys);
}

export function setShowDisabled(shown: boolean): void {
  showDisabled.value = shown;
  remember("disabled", shown);
}

export function matchesName(name: string): boolean {
  const text = nameFilter.value.trim().toLowerCase();
  return text === "" || name.toLowerCase().includes(text);
}

/** Takes over what the address of the overview says. */
export function readListing(search: string): void {
  const query = new URLSearchParams(search);
  const sort = query.get("sort") ?? "";
  const column = columns.find((known) => known === sort.replace(/^-/, ""));
  nameFilter.value = query.get("filter") ?? "";
  stateFilter.value = overalls.find((known) => known === query.get("state"));
  sortBy({ column, descending: column !== undefined && sort.startsWith("-") });
}

/** For the address of the overview. */
export function writeListing(): URLSearchParams {
  const query = new URLSearchParams();
  const { column, descending } = order.value;
  if (nameFilter.value !== "") query.set("filter", nameFilter.value);
  if (stateFilter.value) query.set("state", stateFilter.value);
  if (column) query.set("sort", `${descending ? "-" : ""}${column}`);
  return query;
}
