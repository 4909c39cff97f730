import { expect, test } from "vitest";
import { styleToCss } from "./ansiStyle";

test("converts colours to theme classes or fixed colours, swapped when inverse", () => {
  expect(styleToCss({ foreground: 2, bold: true })).toEqual({ classes: "f2 bold", colors: undefined });
  expect(styleToCss({ background: 196 }).colors).toEqual({ "background-color": "rgb(255 0 0)" });
  expect(styleToCss({ foreground: "rgb(1 2 3)" }).colors).toEqual({ color: "rgb(1 2 3)" });
  expect(styleToCss({ inverse: true })).toEqual({ classes: "inverse", colors: undefined });
  expect(styleToCss({ inverse: true, foreground: 1 }).classes).toBe("b1 on-color");
  expect(styleToCss({ inverse: true, foreground: 1, background: 4 }).classes).toBe("f4 b1");
});
