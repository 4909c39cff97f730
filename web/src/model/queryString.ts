/** The query of the page's address. */

import { signal } from "@preact/signals";

export const queryString = signal("");

/** Says in the address what is shown; going back skips it. */
export function replaceQueryString(query: URLSearchParams): void {
  const text = query.toString();
  const next = text === "" ? "" : `?${text}`;
  if (next === location.search) return;
  history.replaceState(history.state, "", location.pathname + next);
  queryString.value = next;
}
