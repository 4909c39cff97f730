import { afterEach, describe, expect, test, vi } from "vitest";
import { queryString, replaceQueryString } from "./queryString";
import { lastVisited, navigate, parseRoute, type Route, route, routePath, startRouting } from "./route";

describe("routes", () => {
  test.each<[string, Route]>([
    ["/", { view: "overview" }],
    ["/overview", { view: "overview" }],
    ["/r/(all)/overview", { view: "logs" }],
    ["/r/(starred)/overview", { view: "starred" }],
    ["/r/web/overview", { view: "resource", name: "web" }],
    ["/r/web", { view: "resource", name: "web" }],
    ["/r/a%2Fb%20c/overview", { view: "resource", name: "a/b c" }],
    ["/r/(Tiltfile)/overview", { view: "resource", name: "(Tiltfile)" }],
    ["/r/%E0%A4%A/overview", { view: "overview" }],
  ])("%s", (path, route) => {
    expect(parseRoute(path)).toEqual(route);
    expect(parseRoute(routePath(route))).toEqual(route);
  });
});

/** Stubs the browser's location and history. */
function browser(address: string) {
  const past = [address];
  const listeners: (() => void)[] = [];
  const location = {
    get pathname() {
      return (past.at(-1) ?? "").split("?")[0];
    },
    get search() {
      const [, query] = (past.at(-1) ?? "").split("?");
      return query === undefined ? "" : `?${query}`;
    },
  };
  const history = {
    state: null,
    pushState: (_state: unknown, _title: string, path: string) => past.push(path),
    replaceState: (_state: unknown, _title: string, path: string) => past.splice(-1, 1, path),
  };
  vi.stubGlobal("location", location);
  vi.stubGlobal("history", history);
  vi.stubGlobal("addEventListener", (_name: string, listener: () => void) => listeners.push(listener));
  const back = () => {
    past.pop();
    for (const listener of listeners) listener();
  };
  return { past, back };
}

afterEach(() => vi.unstubAllGlobals());

test("navigates forward and back, and keeps the query string", () => {
  const { past, back } = browser("/r/web/overview?term=a");
  const onEnter = vi.fn();
  startRouting(onEnter);
  expect(route.value).toEqual({ view: "resource", name: "web" });
  expect(lastVisited.name).toBe("web");
  expect(onEnter).toHaveBeenCalledWith({ view: "resource", name: "web" }, "?term=a");
  navigate({ view: "overview" });
  expect(past).toEqual(["/r/web/overview?term=a", "/overview"]);
  // Navigating to the current view adds no history entry.
  navigate({ view: "overview" });
  expect(past).toHaveLength(2);
  replaceQueryString(new URLSearchParams({ filter: "x" }));
  expect(past.at(-1)).toBe("/overview?filter=x");
  expect(queryString.value).toBe("?filter=x");
  navigate({ view: "logs" });
  back();
  expect(route.value).toEqual({ view: "overview" });
  expect(onEnter).toHaveBeenLastCalledWith({ view: "overview" }, "?filter=x");
  expect(lastVisited.name).toBe("web");
});
