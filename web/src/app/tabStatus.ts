/** Shows the state of the session in the browser tab: in its title and its icon. */

import { effect } from "@preact/signals";
import { route, type Route } from "../model/route";
import { connection, projectName, session } from "./appState";

export function startTabStatus(): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  // Set only when it changes: browsers fetch and draw an icon again even if it is the same.
  let shownState = "ok";
  effect(() => {
    const { error, busy, starting } = session.counts.value;
    const lost = connection.state.value === "lost";
    const warned = lost || (error === 0 && session.unreachable.value.length > 0);
    const state = warned ? "lost" : error > 0 ? "error" : busy + starting > 0 ? "busy" : "ok";
    // Without a connection, the shown state may be outdated.
    document.body.classList.toggle("stale", lost);
    const titlePrefix = { lost: "⚠ ", error: `✗${error} `, busy: "… ", ok: "" };
    document.title =
      titlePrefix[state] + [viewName(route.value), projectName.value, "lilt"].filter(Boolean).join(" · ");
    if (state === shownState) return;
    shownState = state;
    icon?.setAttribute("href", state === "ok" ? "/favicon.svg" : statusFavicon(state));
  });
}

/** Returns the title of a view; empty for the overview, which is the default. */
function viewName(view: Route): string {
  if (view.view === "resource") return view.name;
  const names = { overview: "", logs: "All logs", starred: "Starred logs" };
  return names[view.view];
}

function statusFavicon(state: "lost" | "error" | "busy"): string {
  const symbols = {
    error:
      '<circle cx="11.5" cy="11.5" r="4.5" fill="#e5484d"/><path d="M10 10l3 3m0-3l-3 3" stroke="#fff" stroke-width="1.3"/>',
    busy: '<circle cx="11.5" cy="11.5" r="4.5" fill="#fff"/><circle cx="11.5" cy="11.5" r="3" fill="none" stroke="#2563eb" stroke-width="1.6" stroke-dasharray="12 6"/>',
    lost: '<circle cx="11.5" cy="11.5" r="4.5" fill="#d97706"/><path d="M11.5 9v3.2m0 1.2v1" stroke="#fff" stroke-width="1.3"/>',
  };
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4454c4"/><path d="M5.2 3.5v9M8.4 7.2v5.3M11.4 5v7.5" stroke="#fff" stroke-width="1.7" stroke-linecap="round"/>${symbols[state]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
