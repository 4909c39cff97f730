import { expect, test } from "vitest";
import { testResource } from "./testData";
import { canCancel, triggerButtonState } from "./triggerButton";

test("the text says what a click does", () => {
  const textOf = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).text;
  expect(textOf({ lastDeployTime: "2026-11-15T19:51:53.000001Z" })).toBe("Update now");
  expect(textOf({ currentBuild: { startTime: null } })).toBe("Stop update");
  expect(textOf({ queued: true })).toBe("Take back");
  expect(textOf({ hasPendingChanges: true })).toBe("Update with changes");
  expect(textOf({ updateStatus: "none" })).toBe("Start");
});

test("running and queued updates can be cancelled", () => {
  const canCancelFor = (status: Parameters<typeof testResource>[1]) => canCancel(testResource("web", status));
  expect(canCancelFor({ currentBuild: { startTime: null } })).toBe(true);
  expect(canCancelFor({ queued: true })).toBe(true);
  expect(canCancelFor({ hasPendingChanges: true })).toBe(false);
});

test("only a resource that waits for a manual trigger is highlighted", () => {
  const isHighlightedFor = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).isHighlighted;
  expect(isHighlightedFor({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(isHighlightedFor({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(isHighlightedFor({ updateStatus: "none", triggerMode: 3 })).toBe(true);
  expect(isHighlightedFor({})).toBe(false);
});

test("hasChanges is true when changes wait for a manual trigger", () => {
  const hasChangesFor = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).hasChanges;
  expect(hasChangesFor({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(hasChangesFor({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(hasChangesFor({ updateStatus: "none", triggerMode: 3 })).toBe(false);
});
