import { expect, test } from "vitest";
import { searchCommands } from "./commandSearch";

test("finds commands by words in any order", () => {
  const run = () => {};
  const all = ["Update web now", "web", "Disable web", "Overview"].map((label) => ({ label, run }));
  const labels = (text: string) => searchCommands(all, text).map((command) => command.label);
  expect(labels("WEB")).toEqual(["web", "Update web now", "Disable web"]);
  expect(labels("web upd")).toEqual(["Update web now"]);
  expect(labels("")).toHaveLength(4);
  expect(labels("nothing")).toEqual([]);
});
