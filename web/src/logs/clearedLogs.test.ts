import { expect, test } from "vitest";
import { getClearedBefore, toggleCleared } from "./clearedLogs";

test("hides cleared lines of one log until it is toggled again", () => {
  toggleCleared("one", "web", 120);
  expect(getClearedBefore("one", "web")).toBe(120);
  expect(getClearedBefore("one", "")).toBe(0);
  toggleCleared("one", "web", 400);
  expect(getClearedBefore("one", "web")).toBe(0);
});

test("hides nothing in the next session", () => {
  toggleCleared("one", "web", 120);
  expect(getClearedBefore("two", "web")).toBe(0);
});
