import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hasOwnColors } from "../components/NamedIcon";
import { linkToSession } from "./endpoint";
import {
  collapsedGroups,
  matchesName,
  nameFilter,
  sortOrder,
  readListSettings,
  stateFilter,
  toggleGroup,
  listSettingsQuery,
} from "./listSettings";
import { sortResources } from "./sortOrder";
import { navigate, route, startRouting, lastVisited } from "./route";
import { testResource } from "./testData";
import { replaceQueryString, queryString } from "./queryString";
import { selection, clearSelection, toggleAllSelected, toggleSelected } from "./selection";

/** The part of a browser that has an address. */
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

beforeEach(() => readListSettings(""));
afterEach(() => vi.unstubAllGlobals());

test("filters and order are read from the address and written into it", () => {
  const said = "?filter=We+b&state=error&sort=-duration";
  readListSettings(said);
  expect(nameFilter.value).toBe("We b");
  expect(stateFilter.value).toBe("error");
  expect(sortOrder.value).toMatchObject({ column: "duration", descending: true });
  expect(`?${listSettingsQuery()}`).toBe(said);
  expect(matchesName("a we B c")).toBe(true);
  expect(matchesName("other")).toBe(false);
  readListSettings("?state=nonsense&sort=-nonsense");
  expect(stateFilter.value).toBeUndefined();
  expect(sortOrder.value).toMatchObject({ column: undefined, descending: false });
  expect(listSettingsQuery().toString()).toBe("");
});

test("groups are closed and opened one by one", () => {
  toggleGroup("a");
  toggleGroup("b");
  toggleGroup("a");
  expect(collapsedGroups.value).toEqual(["b"]);
});

test("rows are sorted by the newest and by the longest update", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const built = (name: string, from: number, until: number) =>
    testResource(name, { buildHistory: [{ startTime: at(from), finishTime: at(until) }] });
  const all = new Map(
    [testResource("never"), built("long", 0, 30), built("late", 40, 41)].map((it) => [it.metadata.name, it]),
  );
  const by = (column: "updated" | "duration", descending = false) =>
    sortResources([...all.keys()], { column, descending }, (name) => all.get(name));
  expect(by("updated")).toEqual(["late", "long", "never"]);
  expect(by("duration")).toEqual(["long", "late", "never"]);
  expect(by("duration", true)).toEqual(["never", "late", "long"]);
});

test("each column sorts by the status that it shows", () => {
  const all = new Map(
    [
      testResource("fine", { updateStatus: "ok", runtimeStatus: "ok" }),
      testResource("crashes", { updateStatus: "ok", runtimeStatus: "error" }),
      testResource("off", {
        disableStatus: { enabledCount: 0, disabledCount: 1, state: "Disabled", sources: [] },
      }),
      testResource("unbuilt", { updateStatus: "error", runtimeStatus: "ok" }),
    ].map((it) => [it.metadata.name, it]),
  );
  const by = (column: "update" | "runtime") =>
    sortResources([...all.keys()], { column, descending: false }, (name) => all.get(name));
  expect(by("update")).toEqual(["unbuilt", "fine", "crashes", "off"]);
  expect(by("runtime")).toEqual(["crashes", "fine", "unbuilt", "off"]);
});

test("views are gone to, come back to, and say what they show in the address", () => {
  const { past, back } = browser("/r/web/overview?term=a");
  const arrived = vi.fn();
  startRouting(arrived);
  expect(route.value).toEqual({ view: "resource", name: "web" });
  expect(lastVisited.name).toBe("web");
  expect(arrived).toHaveBeenCalledWith({ view: "resource", name: "web" }, "?term=a");
  navigate({ view: "overview" });
  expect(past).toEqual(["/r/web/overview?term=a", "/overview"]);
  // Where one is already is not gone to again.
  navigate({ view: "overview" });
  expect(past).toHaveLength(2);
  replaceQueryString(new URLSearchParams({ filter: "x" }));
  expect(past.at(-1)).toBe("/overview?filter=x");
  expect(queryString.value).toBe("?filter=x");
  navigate({ view: "logs" });
  back();
  expect(route.value).toEqual({ view: "overview" });
  expect(arrived).toHaveBeenLastCalledWith({ view: "overview" }, "?filter=x");
  expect(lastVisited.name).toBe("web");
});

test("several are selected, one by one or all of a group", () => {
  toggleSelected("a");
  toggleAllSelected(["a", "b"]);
  expect([...selection.value]).toEqual(["a", "b"]);
  toggleAllSelected(["a", "b"]);
  expect(selection.value.size).toBe(0);
  toggleSelected("c");
  clearSelection();
  expect(selection.value.size).toBe(0);
});

test("drawings with colours of their own keep them", () => {
  const svg = (inner: string) => `<svg xmlns="http://www.w3.org/2000/svg">${inner}</svg>`;
  expect(hasOwnColors(svg(`<path d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill="none" stroke="currentColor" d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill='#000000' d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill="#e33" d="M0 0h8"/>`))).toBe(true);
  expect(hasOwnColors(svg(`<path style="opacity: 1; fill: red" d="M0 0h8"/>`))).toBe(true);
  expect(hasOwnColors(svg(`<image href="data:image/png;base64,AA"/>`))).toBe(true);
});

test("a session is linked to only where it listens", () => {
  const at = (hostname: string, protocol = "http:") => ({ protocol, hostname });
  const local = { link: "http://localhost:10351/?code=a", addresses: ["127.0.0.1", "::1"] };
  expect(linkToSession(local, at("localhost"))).toBe("http://localhost:10351/?code=a");
  expect(linkToSession(local, at("lilt.localhost"))).toBe("http://lilt.localhost:10351/?code=a");
  expect(linkToSession(local, at("127.0.0.1"))).toBe("http://localhost:10351/?code=a");
  // Anyone may listen there.
  expect(linkToSession(local, at("192.168.1.5"))).toBeUndefined();
  expect(linkToSession(local, at("box.lan"))).toBeUndefined();

  const everywhere = { link: "http://localhost:10351/?code=a", addresses: ["0.0.0.0", "::1"] };
  expect(linkToSession(everywhere, at("192.168.1.5"))).toBe("http://192.168.1.5:10351/?code=a");
  expect(linkToSession(everywhere, at("[fe80::1]"))).toBeUndefined();
  expect(linkToSession(everywhere, at("box.lan"))).toBeUndefined();
  // The code would go over the network in the clear.
  expect(linkToSession(everywhere, at("192.168.1.5", "https:"))).toBeUndefined();

  const named = { link: "http://box.lan:10351/?code=a", addresses: ["192.168.1.5"] };
  expect(linkToSession(named, at("box.lan"))).toBe("http://box.lan:10351/?code=a");
  expect(linkToSession(named, at("192.168.1.5"))).toBe("http://192.168.1.5:10351/?code=a");
  const only = { link: "http://127.0.0.1:10351/?code=a", addresses: ["127.0.0.1"] };
  expect(linkToSession(only, at("localhost"))).toBe("http://127.0.0.1:10351/?code=a");
});
