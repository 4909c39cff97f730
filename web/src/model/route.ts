/** Addresses of the page. They are Tilt's, so that bookmarks keep working. */

import { signal } from "@preact/signals";

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
    route.value = parseRoute(location.pathname);
  };
  addEventListener("popstate", read);
  read();
}

export function go(to: Route): void {
  const path = pathOf(to);
  if (path !== location.pathname) {
    history.pushState(null, "", path);
  }
  route.value = to;
}
