/** URLs of the page. They are Tilt's, so that bookmarks keep working. */

import { batch, signal } from "@preact/signals";
import { queryString } from "./queryString";

export type Route =
  { view: "overview" } | { view: "logs" } | { view: "starred" } | { view: "resource"; name: string };

/** Tilt's names for all resources together, and for the starred ones. */
const ALL = "(all)";
const STARRED = "(starred)";

export function parseRoute(path: string): Route {
  const match = /^\/r\/([^/]+)(?:\/overview)?\/?$/.exec(path);
  if (!match) return { view: "overview" };
  let name: string;
  try {
    name = decodeURIComponent(match[1] ?? "");
  } catch {
    return { view: "overview" };
  }
  if (name === ALL) return { view: "logs" };
  return name === STARRED ? { view: "starred" } : { view: "resource", name };
}

export function routePath(route: Route): string {
  switch (route.view) {
    case "overview":
      return "/overview";
    case "logs":
      return `/r/${ALL}/overview`;
    case "starred":
      return `/r/${STARRED}/overview`;
    case "resource":
      return `/r/${encodeURIComponent(route.name)}/overview`;
  }
}

export const route = signal<Route>({ view: "overview" });

/** The resource that was shown last: the overview moves the focus to its row. */
export const lastVisited: { name: string | undefined } = { name: undefined };

/** Applies the current URL, and every URL that the user opens with the browser's back and forward buttons. */
export function startRouting(onEnter: (to: Route, query: string) => void): void {
  const enter = () =>
    batch(() => {
      const to = parseRoute(location.pathname);
      queryString.value = location.search;
      onEnter(to, location.search);
      setRoute(to);
    });
  addEventListener("popstate", enter);
  enter();
}

export function navigate(to: Route, query = ""): void {
  const path = routePath(to) + query;
  if (path !== location.pathname + location.search) {
    history.pushState(null, "", path);
  }
  batch(() => {
    queryString.value = query;
    setRoute(to);
  });
}

function setRoute(to: Route): void {
  if (to.view === "resource") lastVisited.name = to.name;
  route.value = to;
}
