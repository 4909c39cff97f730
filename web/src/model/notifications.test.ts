import { expect, test } from "vitest";
import { keepErrorUntilOk, stateChanges } from "./notifications";
import type { OverallStatus } from "./status";

test("reports only changes between failing and ok", () => {
  const of = (...pairs: [string, OverallStatus][]) => new Map(pairs);
  expect(stateChanges(of(), of(["a", "error"]))).toEqual([]);
  expect(stateChanges(of(["a", "ok"]), of(["a", "error"]))).toEqual([{ name: "a", failed: true }]);
  expect(stateChanges(of(["a", "error"]), of(["a", "error"]))).toEqual([]);
  expect(stateChanges(of(["a", "error"]), of(["a", "ok"]))).toEqual([{ name: "a", failed: false }]);
  // An update that runs is no recovery, and failing again is no news.
  expect(keepErrorUntilOk("error", "busy")).toBe("error");
  expect(keepErrorUntilOk("ok", "busy")).toBe("busy");
});
