import { expect, test } from "vitest";
import { clearSelection, selection, toggleAllSelected, toggleSelected } from "./selection";

test("several are selected, one by one or all of a group", () => {
  toggleSelected("a");
  toggleAllSelected(["a", "b"]);
  expect([...selection.value]).toEqual(["a", "b"]);
  toggleAllSelected(["a", "b"]);
  expect(selection.value.size).toBe(0);
  toggleSelected("c");
  clearSelection();
  expect(selection.value.size).toBe(0);
});
