import { expect, test } from "vitest";
import { keepErrorUntilOk, stateChanges } from "./notifications";
import type { OverallStatus } from "./status";

test("reports only changes between failing and ok", () => {
  const statesOf = (...pairs: [string, OverallStatus][]) => new Map(pairs);
  expect(stateChanges(statesOf(), statesOf(["a", "error"]))).toEqual([]);
  expect(stateChanges(statesOf(["a", "ok"]), statesOf(["a", "error"]))).toEqual([
    { name: "a", failed: true },
  ]);
  expect(stateChanges(statesOf(["a", "error"]), statesOf(["a", "error"]))).toEqual([]);
  expect(stateChanges(statesOf(["a", "error"]), statesOf(["a", "ok"]))).toEqual([
    { name: "a", failed: false },
  ]);
  // A running update is no recovery, and a second failure is not reported.
  expect(keepErrorUntilOk("error", "busy")).toBe("error");
  expect(keepErrorUntilOk("ok", "busy")).toBe("busy");
});
