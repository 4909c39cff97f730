/** Keeps the URL of the overview and its filters in sync. The log pane does the same for its own filters. */

import { effect } from "@preact/signals";
import { listSettingsQuery, readListSettings } from "../model/listSettings";
import { replaceQueryString } from "../model/queryString";
import { readPanelQuery } from "../model/resourcePanel";
import { route, type Route } from "../model/route";

/** Typing changes the URL only after a pause of this many milliseconds. */
const TYPING_PAUSE = 150;

/** Applies the query string of an entered URL. */
export function applyUrl(to: Route, query: string): void {
  if (to.view === "overview") readListSettings(query);
  if (to.view === "resource") readPanelQuery(query);
}

/** Writes the filters of the overview into the URL, so that it can be shared. */
export function startUrlSync(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    clearTimeout(timer);
    if (route.value.view !== "overview") return;
    const query = listSettingsQuery();
    timer = setTimeout(() => replaceQueryString(query), TYPING_PAUSE);
  });
}
