import { expect, test } from "vitest";
import { labelSections } from "./logSections";

test("labels sections by pod, container and server run", () => {
  const words = labelSections("web:deployment", [
    "pod:web:deployment:web-1",
    "pod:web:deployment:web-1:app",
    "podlogstream:x:app",
    "serve:web:2",
  ]).map((section) => section.label);
  expect(words).toEqual(["web-1", "web-1 / app", "x / app", "serve 2"]);
});
