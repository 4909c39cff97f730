import { describe, expect, test } from "vitest";
import { annotation, type RuntimeStatus, type UpdateStatus } from "../generated/protocol";
import { testResource } from "./testData";
import {
  summarizeMessage,
  resourceKind,
  resourceMessages,
  overallStatus,
  runtimeStatus,
  updateStatus,
} from "./status";

const updates: UpdateStatus[] = ["none", "pending", "in_progress", "ok", "error", "not_applicable"];
const runtimes: RuntimeStatus[] = ["unknown", "ok", "pending", "error", "not_applicable", "none"];

test("every status has a unique label", () => {
  const words = [
    ...updates.map((status) => updateStatus(testResource("a", { updateStatus: status })).label),
    ...runtimes.map((status) => runtimeStatus(testResource("a", { runtimeStatus: status })).label),
  ];
  expect(new Set(words).size).toBe(words.length);
});

test("every update status has a unique shape", () => {
  const shapes = updates.map((status) => updateStatus(testResource("a", { updateStatus: status })).shape);
  expect(new Set(shapes).size).toBe(updates.length);
});

test("pending updates are labelled queued or waiting", () => {
  expect(updateStatus(testResource("a", { updateStatus: "pending", queued: true })).label).toBe("Queued");
  expect(updateStatus(testResource("a", { hasPendingChanges: true }))).toEqual({
    shape: "waiting",
    label: "Changes waiting",
  });
});

test.each<[UpdateStatus, RuntimeStatus, string]>([
  ["ok", "ok", "ok"],
  ["ok", "error", "error"],
  ["error", "ok", "error"],
  ["in_progress", "error", "error"],
  ["in_progress", "ok", "busy"],
  ["ok", "pending", "starting"],
  ["in_progress", "pending", "busy"],
  ["pending", "pending", "waiting"],
  ["pending", "none", "waiting"],
  ["none", "not_applicable", "idle"],
  ["not_applicable", "ok", "ok"],
])("update %s and runtime %s together are %s", (update, runtime, wanted) => {
  expect(overallStatus(testResource("a", { updateStatus: update, runtimeStatus: runtime }))).toBe(wanted);
});

test("a resource of an unreachable cluster is failing and labelled unreachable", () => {
  const annotations = { [annotation.unreachableCluster]: "default" };
  const lost = testResource("a", { updateStatus: "ok", runtimeStatus: "error" }, { annotations });
  expect(runtimeStatus(lost)).toEqual({ shape: "error", label: "Unreachable" });
  expect(overallStatus(lost)).toBe("error");
});

describe("messages", () => {
  test("show the last error unless another update is running", () => {
    const failed = { buildHistory: [{ error: "exit 1", warnings: ["old"] }, { error: "before" }] };
    expect(resourceMessages(testResource("a", failed))).toEqual([
      { kind: "error", text: "exit 1" },
      { kind: "warning", text: "old" },
    ]);
    expect(
      resourceMessages(testResource("a", { ...failed, currentBuild: {} })).map(({ kind }) => kind),
    ).toEqual(["warning"]);
  });

  test("show holds and causes from annotations", () => {
    const annotations = { [annotation.hold]: "waiting for db", [annotation.cause]: "changed: a.go" };
    expect(resourceMessages(testResource("a", {}, { annotations }))).toEqual([
      { kind: "hold", text: "waiting for db" },
    ]);
    expect(resourceMessages(testResource("a", { currentBuild: {} }, { annotations }))).toContainEqual({
      kind: "note",
      text: "changed: a.go",
    });
  });

  test("a hold for a manual trigger is no warning", () => {
    const held = (hold: string) =>
      resourceMessages(testResource("a", {}, { annotations: { [annotation.hold]: hold } })).map(
        ({ kind }) => kind,
      );
    expect(held("waiting for a trigger")).toEqual(["manual"]);
    expect(held("2 files changed; waiting for a trigger")).toEqual(["manual"]);
    expect(held("waiting for db (waiting for a trigger)")).toEqual(["hold"]);
  });

  test("summaries of failed commands start with the exit status", () => {
    expect(summarizeMessage('Command "cat a/very/long/path" failed: exit status 3')).toBe(
      "exit status 3: cat a/very/long/path",
    );
    expect(summarizeMessage('Command "set -e\ncat a" failed: signal: killed\nmore')).toBe(
      "signal: killed: set -e",
    );
    expect(summarizeMessage('waiting for db (failed: Command "make db" failed: exit status 2)')).toBe(
      "waiting for db (failed: exit status 2: make db)",
    );
    expect(summarizeMessage('Command "echo \\"no\\"; exit 1" failed: exit status 1')).toBe(
      'exit status 1: echo "no"; exit 1',
    );
    expect(summarizeMessage("pod web-1: Error (exit code 1)")).toBe("Error (exit code 1)");
    expect(summarizeMessage("Tiltfile:2:1: no such thing\n  | x")).toBe("Tiltfile:2:1: no such thing");
  });

  test("show why a pod fails", () => {
    const status = { runtimeStatus: "error" as const, k8sResourceInfo: { podStatusMessage: "OOMKilled" } };
    expect(resourceMessages(testResource("a", status))).toEqual([{ kind: "error", text: "OOMKilled" }]);
  });
});

test("a resource without a pod is not starting after a failed update", () => {
  const failed = { updateStatus: "error", runtimeStatus: "pending" } as const;
  expect(runtimeStatus(testResource("a", failed))).toEqual({ shape: "idle", label: "Not running" });
  const pod = { ...failed, k8sResourceInfo: { podName: "a-1" } };
  expect(runtimeStatus(testResource("a", pod)).label).toBe("Starting");
  expect(runtimeStatus(testResource("a", { runtimeStatus: "pending" })).label).toBe("Starting");
});

test("returns the kind of a resource", () => {
  expect(resourceKind(testResource("(Tiltfile)"))).toBe("Tiltfile");
  expect(resourceKind(testResource("a", { k8sResourceInfo: {} }))).toBe("Kubernetes");
  expect(resourceKind(testResource("a", { localResourceInfo: { isTest: true } }))).toBe("Test");
});
