import { expect, test, vi } from "vitest";
import { MatchCounter, matchSummary, type LineCounter } from "./matchCounter";

/** Counts in a log in which every tenth line matches, at most `step` lines per request. */
function fakeCounter(end: { now: number }, step: number): LineCounter & { requests: number } {
  return {
    requests: 0,
    async count(_query, from, until) {
      this.requests++;
      const last = Math.min(end.now, until ?? Infinity);
      const next = Math.min(last, from + step);
      const below = (line: number) => Math.ceil(line / 10);
      return { count: Math.max(0, below(next) - below(from)), next, done: next >= last };
    },
  };
}

test("counts in steps and while the log grows, and finds the current match", async () => {
  const end = { now: 1_000 };
  const source = fakeCounter(end, 300);
  const matches = new MatchCounter(source);
  matches.start("text=x", 0);
  await vi.waitFor(() => expect(matches.total.value).toBe(100));
  expect(source.requests).toBe(4);
  await matches.setCurrentLine(50);
  expect(matches.position.value).toBe(6);
  vi.useFakeTimers();
  end.now = 2_000;
  matches.logGrew(2_000);
  matches.logGrew(2_000);
  await vi.advanceTimersByTimeAsync(1_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(matches.total.value).toBe(200));
  await matches.setCurrentLine(undefined);
  expect(matches.position.value).toBe(undefined);
  matches.start("text=y", 1_990);
  await vi.waitFor(() => expect(matches.total.value).toBe(1));
});

test("summarizes position and total of matches", () => {
  expect(matchSummary(undefined, undefined)).toBe("");
  expect(matchSummary(undefined, 1)).toBe("1 match");
  expect(matchSummary(undefined, 0)).toBe("0 matches");
  expect(matchSummary(3, 12)).toBe("3 of 12");
  expect(matchSummary(0, 12)).toBe("12 matches");
});
