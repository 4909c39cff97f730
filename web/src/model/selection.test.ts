import { expect, test } from "vitest";
import { clearSelection, selection, toggleAllSelected, toggleSelected } from "./selection";

test("selects single resources and whole groups", () => {
  toggleSelected("a");
  toggleAllSelected(["a", "b"]);
  expect([...selection.value]).toEqual(["a", "b"]);
  toggleAllSelected(["a", "b"]);
  expect(selection.value.size).toBe(0);
  toggleSelected("c");
  clearSelection();
  expect(selection.value.size).toBe(0);
});
