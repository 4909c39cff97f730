import { expect, test } from "vitest";
import { floorOf, toggleCleared } from "./clearedLogs";

test("what was cleared is hidden in that log, until it is wanted again", () => {
  toggleCleared("one", "web", 120);
  expect(floorOf("one", "web")).toBe(120);
  expect(floorOf("one", "")).toBe(0);
  toggleCleared("one", "web", 400);
  expect(floorOf("one", "web")).toBe(0);
});

test("the next session, which counts its lines anew, hides nothing", () => {
  toggleCleared("one", "web", 120);
  expect(floorOf("two", "web")).toBe(0);
});
