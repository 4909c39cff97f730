import { expect, test } from "vitest";
import { pathOfIcon } from "../components/NamedIcon";
import { resource } from "./testData";
import { canCancel, triggerForm } from "./triggerButton";

test("the trigger button says what a click does", () => {
  const words = (status: Parameters<typeof resource>[1]) => triggerForm(resource("web", status)).words;
  expect(words({ lastDeployTime: "2026-11-15T19:51:53.000001Z" })).toBe("Update now");
  expect(words({ currentBuild: { startTime: null } })).toBe("Stop update");
  expect(words({ queued: true })).toBe("Take back");
  expect(words({ hasPendingChanges: true })).toBe("Update with changes");
  expect(words({ updateStatus: "none" })).toBe("Start");
});

test("what runs or was asked for can be cancelled", () => {
  const cancellable = (status: Parameters<typeof resource>[1]) => canCancel(resource("web", status));
  expect(cancellable({ currentBuild: { startTime: null } })).toBe(true);
  expect(cancellable({ queued: true })).toBe(true);
  expect(cancellable({ hasPendingChanges: true })).toBe(false);
});

test("only what waits for a hand stands out", () => {
  const due = (status: Parameters<typeof resource>[1]) => triggerForm(resource("web", status)).due;
  expect(due({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(due({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(due({ updateStatus: "none", triggerMode: 3 })).toBe(true);
  expect(due({})).toBe(false);
});

test("a star says that saved changes wait for a click", () => {
  const changed = (status: Parameters<typeof resource>[1]) => triggerForm(resource("web", status)).changed;
  expect(changed({ hasPendingChanges: true, triggerMode: 1 })).toBe(true);
  expect(changed({ hasPendingChanges: true, triggerMode: 0 })).toBe(false);
  expect(changed({ updateStatus: "none", triggerMode: 3 })).toBe(false);
});

test("icons have variants, and unknown ones a drawing", () => {
  expect(pathOfIcon("delete_outline")).toBe(pathOfIcon("delete"));
  expect(pathOfIcon("no_such_icon")).not.toBe(pathOfIcon("delete"));
  expect(pathOfIcon("no_such_icon")).toBe(pathOfIcon("smart_button"));
});
