import { expect, test } from "vitest";
import { thumbPosition } from "./LogScrollbar";

test("the thumb shows the visible part of the log", () => {
  expect(thumbPosition({ first: 0, last: 9 }, 0, 10)).toEqual({ top: 0, height: 1 });
  expect(thumbPosition({ first: 90, last: 99 }, 0, 100)).toEqual({ top: 0.9, height: 0.1 });
  const far = thumbPosition({ first: 999_960, last: 999_999 }, 0, 1_000_000);
  expect(far.top + far.height).toBeCloseTo(1);
  expect(far.height).toBeGreaterThan(0.02);
});
