import { describe, expect, test } from "vitest";
import { conditionIcon, conditionDetail } from "./clusterDetails";
import { MAX_RETRY_DELAY, retryDelay, MIN_RETRY_DELAY } from "../connection/connection";
import { webSocketUrl } from "../connection/earlySocket";
import { endpointLabel, isWebPage, safeUrl } from "./endpoint";
import { parseRoute, routePath, type Route } from "./route";
import {
  formatAge,
  formatElapsed,
  formatDuration,
  freezeClock,
  now,
  formatTimeOfDay,
  formatWholeSeconds,
} from "./time";

test.each([
  [0, "0 ms"],
  [380, "380 ms"],
  [1_640, "1.6 s"],
  [12_400, "12 s"],
  [59_700, "1 min"],
  [83_000, "1 min 23 s"],
  [3_720_000, "1 h 2 min"],
])("%d ms are %s", (ms, words) => {
  expect(formatDuration(ms)).toBe(words);
});

test.each([
  ["Available", "True", "ok", ""],
  ["Available", "False", "waiting", "NotYet: one is missing"],
  ["Established", "Unknown", "waiting", "NotYet: one is missing"],
  ["ReplicaFailure", "True", "error", "NotYet: one is missing"],
  ["ReplicaFailure", "False", "ok", "False"],
  ["Failed", "True", "error", "NotYet: one is missing"],
  ["Suspended", "True", "waiting", "NotYet: one is missing"],
])("a condition %s that is %s is %s", (type, status, shape, words) => {
  const condition = { type, status, reason: "NotYet", message: "one is missing" };
  expect([conditionIcon(condition), conditionDetail(condition)]).toEqual([shape, words]);
});

test("times ago", () => {
  const then = "2026-11-15T12:00:00.000000Z";
  const after = (seconds: number) => formatAge(then, Date.parse(then) + seconds * 1000);
  expect([2, 30, 90, 7200, 200_000].map(after)).toEqual([
    "just now",
    "30 s ago",
    "1 min ago",
    "2 h ago",
    "2 days ago",
  ]);
  expect(after(-5)).toBe("just now");
  expect(formatElapsed(then, "2026-11-15T12:00:00.250000Z")).toBe("250 ms");
  expect(formatElapsed(then, undefined)).toBe("");
  expect(formatWholeSeconds(1_900)).toBe("1 s");
});

test("the time of day has two digits of each, where the reader is", () => {
  const at = new Date(2026, 10, 15, 4, 5, 6, 789);
  expect(formatTimeOfDay(at.toISOString())).toBe("04:05:06");
  expect(formatTimeOfDay("never")).toBe("");
});

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

test("endpoints lead to pages and other programs, and run nothing here", () => {
  expect(safeUrl({ url: "http://localhost:8000" })).toBe("http://localhost:8000/");
  for (const url of ["vscode://file/src/main.go", "postgres://me@localhost:5432/db", "mongodb+srv://x/"]) {
    expect(safeUrl({ url })).toBe(url);
    expect(isWebPage(url)).toBe(false);
  }
  for (const url of [
    "javascript:alert(1)",
    "javascript://x/%0aalert(1)",
    " JavaScript://x/%0aalert(1)",
    "java\nscript://x/%0aalert(1)",
    "\u0001javascript://x/%0aalert(1)",
    "vbscript://x",
    "data:text/html,x",
    "data://text/html,x",
    "blob://x",
    "ms-msdt://x",
    "search-ms://x",
    "view-source://x",
    "file:///etc/passwd",
    "localhost:80",
    "",
  ]) {
    expect(safeUrl({ url })).toBeUndefined();
  }
  expect(endpointLabel({ url: "http://localhost:8000/" })).toBe("localhost:8000");
  expect(endpointLabel({ url: "http://x/", name: "docs" })).toBe("docs");
});

describe("connection", () => {
  test("pauses grow and stay within bounds", () => {
    expect(retryDelay(0, 0.5)).toBe(MIN_RETRY_DELAY);
    expect(retryDelay(1, 0.5)).toBe(2 * MIN_RETRY_DELAY);
    expect(retryDelay(1000, 0.5)).toBe(MAX_RETRY_DELAY);
    expect(retryDelay(0, 0)).toBeGreaterThan(0);
  });

  test("is as safe as the page", () => {
    const place = { protocol: "http:", host: "localhost:10350" };
    expect(webSocketUrl(place)).toBe("ws://localhost:10350/ws");
    expect(webSocketUrl({ ...place, protocol: "https:" })).toMatch(/^wss:/);
  });
});

test("a frozen clock shows ages as they were when the snapshot was made", () => {
  freezeClock("2026-01-01T10:00:30Z");
  expect(formatAge("2026-01-01T10:00:00Z", now.value)).toBe("30 s ago");
  freezeClock("not a time");
  expect(now.value).toBe(Date.parse("2026-01-01T10:00:30Z"));
});
