import { expect, test } from "vitest";
import { conditionDetail, conditionIcon, describeContainer } from "./clusterDetails";

test("describes the state of containers", () => {
  expect(describeContainer({ name: "a", ready: true, state: { running: {} } })).toBe("ready");
  expect(
    describeContainer({ name: "a", restarts: 3, state: { waiting: { reason: "CrashLoopBackOff" } } }),
  ).toBe("waiting: CrashLoopBackOff · 3 restarts");
  expect(describeContainer({ name: "a", state: { terminated: { reason: "Error", exitCode: 2 } } })).toBe(
    "ended: Error (2)",
  );
});

test.each([
  ["Available", "True", "ok", ""],
  ["Available", "False", "waiting", "NotYet: one is missing"],
  ["Established", "Unknown", "waiting", "NotYet: one is missing"],
  ["ReplicaFailure", "True", "error", "NotYet: one is missing"],
  ["ReplicaFailure", "False", "ok", "False"],
  ["Failed", "True", "error", "NotYet: one is missing"],
  ["Suspended", "True", "waiting", "NotYet: one is missing"],
])("condition %s that is %s has icon %s", (type, status, shape, words) => {
  const condition = { type, status, reason: "NotYet", message: "one is missing" };
  expect([conditionIcon(condition), conditionDetail(condition)]).toEqual([shape, words]);
});
