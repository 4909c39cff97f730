/** The query of the page's address. */

import { signal } from "@preact/signals";

export const search = signal("");

/** Says in the address what is shown; going back skips it. */
export function putSearch(query: URLSearchParams): void {
  const text = query.toString();
  const wanted = text === "" ? "" : `?${text}`;
  if (wanted === location.search) return;
  history.replaceState(history.state, "", location.pathname + wanted);
  search.value = wanted;
}
