import { expect, test } from "vitest";
import { hasOwnColors, iconPath } from "./NamedIcon";

test("hasOwnColors is true only for SVGs that define colours", () => {
  const svg = (inner: string) => `<svg xmlns="http://www.w3.org/2000/svg">${inner}</svg>`;
  expect(hasOwnColors(svg(`<path d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill="none" stroke="currentColor" d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill='#000000' d="M0 0h8"/>`))).toBe(false);
  expect(hasOwnColors(svg(`<path fill="#e33" d="M0 0h8"/>`))).toBe(true);
  expect(hasOwnColors(svg(`<path style="opacity: 1; fill: red" d="M0 0h8"/>`))).toBe(true);
  expect(hasOwnColors(svg(`<image href="data:image/png;base64,AA"/>`))).toBe(true);
});

test("icon variants share a path, and unknown names get the fallback", () => {
  expect(iconPath("delete_outline")).toBe(iconPath("delete"));
  expect(iconPath("no_such_icon")).not.toBe(iconPath("delete"));
  expect(iconPath("no_such_icon")).toBe(iconPath("smart_button"));
});
