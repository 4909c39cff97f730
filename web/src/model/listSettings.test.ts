import { beforeEach, expect, test } from "vitest";
import {
  collapsedGroups,
  listSettingsQuery,
  matchesName,
  nameFilter,
  readListSettings,
  sortOrder,
  statusFilter,
  toggleGroup,
} from "./listSettings";

beforeEach(() => readListSettings(""));

test("filters and order survive a round trip through the URL", () => {
  const said = "?filter=We+b&state=error&sort=-duration";
  readListSettings(said);
  expect(nameFilter.value).toBe("We b");
  expect(statusFilter.value).toBe("error");
  expect(sortOrder.value).toMatchObject({ column: "duration", descending: true });
  expect(`?${listSettingsQuery()}`).toBe(said);
  expect(matchesName("a we B c")).toBe(true);
  expect(matchesName("other")).toBe(false);
  readListSettings("?state=nonsense&sort=-nonsense");
  expect(statusFilter.value).toBeUndefined();
  expect(sortOrder.value).toMatchObject({ column: undefined, descending: false });
  expect(listSettingsQuery().toString()).toBe("");
});

test("collapses and expands single groups", () => {
  toggleGroup("a");
  toggleGroup("b");
  toggleGroup("a");
  expect(collapsedGroups.value).toEqual(["b"]);
});
