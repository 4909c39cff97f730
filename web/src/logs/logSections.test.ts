import { expect, test } from "vitest";
import { labelSections } from "./logSections";

test("sections are called what people call them", () => {
  const words = labelSections("web:deployment", [
    "pod:web:deployment:web-1",
    "pod:web:deployment:web-1:app",
    "podlogstream:x:app",
    "serve:web:2",
  ]).map((section) => section.label);
  expect(words).toEqual(["web-1", "web-1 / app", "x / app", "serve 2"]);
});
