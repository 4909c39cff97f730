import { effect } from "@preact/signals";
import { describe, expect, test } from "vitest";
import { testResource, stateMessage } from "./testData";
import { Session, starredGroup } from "./session";

const labels = (...names: string[]) => ({ labels: Object.fromEntries(names.map((name) => [name, name])) });

describe("Session", () => {
  test("merges changes and removals", () => {
    const session = new Session();
    session.apply(
      stateMessage({
        complete: true,
        resources: [testResource("a", { order: 1 }), testResource("b", { order: 2 })],
      }),
    );
    session.apply(stateMessage({ resources: [testResource("c", { order: 0 })], removed: ["a"] }));
    expect(session.names.value).toEqual(["c", "b"]);
  });

  test("a complete state replaces all resources", () => {
    const session = new Session();
    session.apply(stateMessage({ complete: true, resources: [testResource("old"), testResource("kept")] }));
    const kept = session.resource("kept");
    session.apply(
      stateMessage({ complete: true, resources: [testResource("kept", { updateStatus: "error" })] }),
    );
    expect(session.names.value).toEqual(["kept"]);
    expect(session.resource("kept")).toBe(kept);
    expect(kept?.value.status.updateStatus).toBe("error");
  });

  test("a changed status updates its row but not the layout", () => {
    const session = new Session();
    session.apply(stateMessage({ complete: true, resources: [testResource("a"), testResource("b")] }));
    let layouts = 0;
    let rows = 0;
    effect(() => {
      session.groups.value;
      layouts++;
    });
    effect(() => {
      session.resource("b")?.value;
      rows++;
    });
    session.apply(stateMessage({ resources: [testResource("a", { updateStatus: "error" })] }));
    expect([layouts, rows]).toEqual([1, 1]);
    session.apply(stateMessage({ resources: [testResource("b", { updateStatus: "error" })] }));
    expect([layouts, rows]).toEqual([1, 2]);
  });

  test("labels named like built-in groups are separate groups", () => {
    const session = new Session();
    session.apply(
      stateMessage({
        complete: true,
        resources: [
          testResource("a", {}, labels("other")),
          testResource("b"),
          testResource("c", {}, labels("starred")),
        ],
      }),
    );
    const groups = [starredGroup(["b", "gone"], new Set(session.names.value)), ...session.groups.value];
    expect(groups.map(({ label, names }) => [label, ...names])).toEqual([
      ["starred", "b"],
      ["other", "a"],
      ["starred", "c"],
      ["without a label", "b"],
    ]);
    expect(new Set(groups.map(({ key }) => key)).size).toBe(groups.length);
  });

  test("groups by label, with the Tiltfile first and unlabelled resources last", () => {
    const session = new Session();
    session.apply(
      stateMessage({
        complete: true,
        resources: [
          testResource("loose", { order: 1 }),
          testResource("web", { order: 3 }, labels("front", "all")),
          testResource("api", { order: 2 }, labels("all")),
          testResource("(Tiltfile)", { order: 9 }),
        ],
      }),
    );
    expect(session.groups.value.map(({ label, names }) => [label, ...names])).toEqual([
      ["(Tiltfile)", "(Tiltfile)"],
      ["all", "api", "web"],
      ["front", "web"],
      ["other", "loose"],
    ]);
    session.apply(stateMessage({ resources: [testResource("loose", { order: 1 }, labels("front"))] }));
    expect(session.groups.value.map(({ label }) => label)).toEqual(["(Tiltfile)", "all", "front"]);
  });

  test("counts each resource once", () => {
    const session = new Session();
    session.apply(
      stateMessage({
        complete: true,
        resources: [
          testResource("a", { updateStatus: "error" }, labels("one", "two")),
          testResource("b", { runtimeStatus: "pending" }),
          testResource("c"),
          testResource("d", { updateStatus: "none" }),
        ],
      }),
    );
    expect(session.counts.value).toEqual({
      error: 1,
      busy: 0,
      starting: 1,
      waiting: 0,
      ok: 1,
      idle: 1,
      disabled: 0,
    });
  });
});
