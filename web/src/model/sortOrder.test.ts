import { expect, test } from "vitest";
import { nextSortOrder, sortResources, tiltfileOrder } from "./sortOrder";
import { testResource } from "./testData";

test("sorts by name and by urgency of the status", () => {
  const all = new Map([
    ["b", testResource("b", { updateStatus: "ok" })],
    ["A", testResource("A", { updateStatus: "error" })],
    ["c", testResource("c", { updateStatus: "in_progress", runtimeStatus: "ok" })],
  ]);
  const sortedNames = (order: Parameters<typeof sortResources>[1]) =>
    sortResources([...all.keys()], order, (name) => all.get(name));
  expect(sortedNames(tiltfileOrder)).toEqual(["b", "A", "c"]);
  const name = nextSortOrder(tiltfileOrder, "name");
  expect(sortedNames(name)).toEqual(["A", "b", "c"]);
  expect(sortedNames(nextSortOrder(name, "name"))).toEqual(["c", "b", "A"]);
  expect(nextSortOrder(nextSortOrder(name, "name"), "name")).toEqual(tiltfileOrder);
  expect(sortedNames({ column: "update", descending: false })).toEqual(["A", "c", "b"]);
  expect(sortedNames({ column: "runtime", descending: false })).toEqual(["c", "b", "A"]);
});

test("sorts by the newest and by the longest update", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const built = (name: string, from: number, until: number) =>
    testResource(name, { buildHistory: [{ startTime: at(from), finishTime: at(until) }] });
  const all = new Map(
    [testResource("never"), built("long", 0, 30), built("late", 40, 41)].map((it) => [it.metadata.name, it]),
  );
  const by = (column: "updated" | "duration", descending = false) =>
    sortResources([...all.keys()], { column, descending }, (name) => all.get(name));
  expect(by("updated")).toEqual(["late", "long", "never"]);
  expect(by("duration")).toEqual(["long", "late", "never"]);
  expect(by("duration", true)).toEqual(["never", "late", "long"]);
});

test("sorts each status column by its own status", () => {
  const all = new Map(
    [
      testResource("fine", { updateStatus: "ok", runtimeStatus: "ok" }),
      testResource("crashes", { updateStatus: "ok", runtimeStatus: "error" }),
      testResource("off", {
        disableStatus: { enabledCount: 0, disabledCount: 1, state: "Disabled", sources: [] },
      }),
      testResource("unbuilt", { updateStatus: "error", runtimeStatus: "ok" }),
    ].map((it) => [it.metadata.name, it]),
  );
  const by = (column: "update" | "runtime") =>
    sortResources([...all.keys()], { column, descending: false }, (name) => all.get(name));
  expect(by("update")).toEqual(["unbuilt", "fine", "crashes", "off"]);
  expect(by("runtime")).toEqual(["crashes", "fine", "unbuilt", "off"]);
});
