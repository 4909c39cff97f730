import { expect, test } from "vitest";
import { getClearedBefore, toggleCleared } from "./clearedLogs";

test("what was cleared is hidden in that log, until it is wanted again", () => {
  toggleCleared("one", "web", 120);
  expect(getClearedBefore("one", "web")).toBe(120);
  expect(getClearedBefore("one", "")).toBe(0);
  toggleCleared("one", "web", 400);
  expect(getClearedBefore("one", "web")).toBe(0);
});

test("the next session, which counts its lines anew, hides nothing", () => {
  toggleCleared("one", "web", 120);
  expect(getClearedBefore("two", "web")).toBe(0);
});
