import { expect, test } from "vitest";
import { testResource } from "./testData";
import { canCancel, triggerButtonState } from "./triggerButton";

test("the text says what a click does", () => {
  const words = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).text;
  expect(words({ lastDeployTime: "2026-11-15T19:51:53.000001Z" })).toBe("Update now");
  expect(words({ currentBuild: { startTime: null } })).toBe("Stop update");
  expect(words({ queued: true })).toBe("Take back");
  expect(words({ hasPendingChanges: true })).toBe("Update with changes");
  expect(words({ updateStatus: "none" })).toBe("Start");
});

test("running and queued updates can be cancelled", () => {
  const cancellable = (status: Parameters<typeof testResource>[1]) => canCancel(testResource("web", status));
  expect(cancellable({ currentBuild: { startTime: null } })).toBe(true);
  expect(cancellable({ queued: true })).toBe(true);
  expect(cancellable({ hasPendingChanges: true })).toBe(false);
});

test("only a resource that waits for a manual trigger is highlighted", () => {
  const due = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).isHighlighted;
  expect(due({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(due({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(due({ updateStatus: "none", triggerMode: 3 })).toBe(true);
  expect(due({})).toBe(false);
});

test("hasChanges is true when changes wait for a manual trigger", () => {
  const changed = (status: Parameters<typeof testResource>[1]) =>
    triggerButtonState(testResource("web", status)).hasChanges;
  expect(changed({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(changed({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(changed({ updateStatus: "none", triggerMode: 3 })).toBe(false);
});
