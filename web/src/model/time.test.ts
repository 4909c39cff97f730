import { expect, test } from "vitest";
import {
  formatAge,
  formatDuration,
  formatElapsed,
  formatTimeOfDay,
  formatWholeSeconds,
  freezeClock,
  now,
} from "./time";

test.each([
  [0, "0 ms"],
  [380, "380 ms"],
  [1_640, "1.6 s"],
  [12_400, "12 s"],
  [59_700, "1 min"],
  [83_000, "1 min 23 s"],
  [3_720_000, "1 h 2 min"],
])("formats %d ms as %s", (ms, words) => {
  expect(formatDuration(ms)).toBe(words);
});

test("formats ages", () => {
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

test("formats the time of day in the local time zone", () => {
  const at = new Date(2026, 10, 15, 4, 5, 6, 789);
  expect(formatTimeOfDay(at.toISOString())).toBe("04:05:06");
  expect(formatTimeOfDay("never")).toBe("");
});

test("a frozen clock shows ages as of the snapshot", () => {
  freezeClock("2026-01-01T10:00:30Z");
  expect(formatAge("2026-01-01T10:00:00Z", now.value)).toBe("30 s ago");
  freezeClock("not a time");
  expect(now.value).toBe(Date.parse("2026-01-01T10:00:30Z"));
});
