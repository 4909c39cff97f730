/** The query string of the page's URL. */

import { signal } from "@preact/signals";

export const queryString = signal("");

/** Replaces the query string without an entry in the browser's history. */
export function replaceQueryString(query: URLSearchParams): void {
  const text = query.toString();
  const next = text === "" ? "" : `?${text}`;
  if (next === location.search) return;
  history.replaceState(history.state, "", location.pathname + next);
  queryString.value = next;
}
