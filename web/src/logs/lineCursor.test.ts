import { expect, test } from "vitest";
import type { Line } from "../generated/protocol";
import { nextCursorIndex } from "./lineCursor";

test("moves from the current line, or starts at a visible one", () => {
  const rows = [3, 5, 8, 9].map((seq) => ({ seq }) as Line);
  const visible = { first: 5, last: 9 };
  expect(nextCursorIndex(rows, 8, visible, 1)).toBe(3);
  expect(nextCursorIndex(rows, 9, visible, 1)).toBe(3);
  expect(nextCursorIndex(rows, 5, visible, -1)).toBe(0);
  expect(nextCursorIndex(rows, undefined, visible, 1)).toBe(1);
  expect(nextCursorIndex(rows, undefined, visible, -1)).toBe(3);
  expect(nextCursorIndex(rows, 3, visible, 1)).toBe(1);
  // The current line has been hidden by a filter.
  expect(nextCursorIndex(rows, 6, visible, -1)).toBe(3);
});
