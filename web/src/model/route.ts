/** Addresses of the page. They are Tilt's, so that bookmarks keep working. */

import { signal } from "@preact/signals";
import { search } from "./search";

export type Route = { view: "overview" } | { view: "logs" } | { view: "resource"; name: string };

/** Tilt's name for all resources together. */
const ALL = "(all)";

export function parseRoute(path: string): Route {
  const match = /^\/r\/([^/]+)(?:\/overview)?\/?$/.exec(path);
  if (!match) return { view: "overview" };
  let name: string;
  try {
    name = decodeURIComponent(match[1] ?? "");
  } catch {
    return { view: "overview" };
  }
  return name === ALL ? { view: "logs" } : { view: "resource", name };
}

export function pathOf(route: Route): string {
  switch (route.view) {
    case "overview":
      return "/overview";
    case "logs":
      return `/r/${ALL}/overview`;
    case "resource":
      return `/r/${encodeURIComponent(route.name)}/overview`;
  }
}

export const route = signal<Route>({ view: "overview" });

export function startRouting(): void {
  const read = () => {
    search.value = location.search;
    route.value = parseRoute(location.pathname);
  };
  addEventListener("popstate", read);
  read();
}

export function go(to: Route, query = ""): void {
  const path = pathOf(to) + query;
  if (path !== location.pathname + location.search) {
    history.pushState(null, "", path);
  }
  search.value = query;
  route.value = to;
}
