import { describe, expect, test } from "vitest";
import type { UpdateRecord } from "../generated/protocol";
import type { UIButton } from "./buttonTypes";
import { ButtonStore } from "./buttonStore";
import { needsForm, initialInputValues, formatMicroTime } from "./buttonClick";
import { describeContainer } from "./clusterDetails";
import { searchCommands } from "./commandSearch";
import { keepErrorUntilOk, stateChanges } from "./notifications";
import { tiltfileOrder, nextSortOrder, sortResources } from "./sortOrder";
import { testResource } from "./testData";
import type { OverallStatus } from "./status";
import { stageBars, timeRange } from "./timeline";

function button(name: string, spec: Partial<UIButton["spec"]> = {}): UIButton {
  const location = { componentType: "Resource", componentID: "api" };
  return { metadata: { name }, spec: { text: name, location, ...spec } };
}

describe("buttons", () => {
  test("are found by where they are shown", () => {
    const buttons = new ButtonStore();
    const nav = { componentType: "Global", componentID: "nav" };
    buttons.apply({
      type: "buttons",
      complete: true,
      buttons: [button("b"), button("a"), button("n", { location: nav })],
      removed: [],
    });
    expect(buttons.forResource("api").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    expect(buttons.inNavigationBar.map(({ metadata }) => metadata.name)).toEqual(["n"]);
    buttons.apply({ type: "buttons", complete: false, buttons: [], removed: ["a"] });
    expect(buttons.forResource("api")).toHaveLength(1);
    expect(buttons.forResource("web")).toEqual([]);
  });

  test("start with what was chosen last, else with what they say", () => {
    const asked = button("a", {
      inputs: [
        { name: "who", text: { defaultValue: "Ada" } },
        { name: "loud", bool: { defaultValue: true } },
        { name: "tone", choice: { choices: ["warm", "cold"] } },
        { name: "key", hidden: { value: "x" } },
      ],
    });
    expect(initialInputValues(asked)).toEqual([
      { name: "who", text: { value: "Ada" } },
      { name: "loud", bool: { value: true } },
      { name: "tone", choice: { value: "warm" } },
      { name: "key", hidden: { value: "x" } },
    ]);
    asked.status = {
      inputs: [
        { name: "who", text: { value: "Grace" } },
        { name: "tone", choice: { value: "gone" } },
        { name: "key", hidden: { value: "old" } },
      ],
    };
    const values = initialInputValues(asked);
    expect(values[0]).toEqual({ name: "who", text: { value: "Grace" } });
    expect(values[2]).toEqual({ name: "tone", choice: { value: "warm" } });
    expect(values[3]).toEqual({ name: "key", hidden: { value: "x" } });
  });

  test("ask only for what a person can say", () => {
    expect(needsForm(button("a"))).toBe(false);
    expect(needsForm(button("a", { inputs: [{ name: "h", hidden: { value: "" } }] }))).toBe(false);
    expect(needsForm(button("a", { requiresConfirmation: true }))).toBe(true);
    expect(needsForm(button("a", { inputs: [{ name: "t", text: {} }] }))).toBe(true);
    expect(formatMicroTime(new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6)))).toBe("2026-01-02T03:04:05.006000Z");
  });
});

test("rows are sorted by what needs attention", () => {
  const all = new Map([
    ["b", testResource("b", { updateStatus: "ok" })],
    ["A", testResource("A", { updateStatus: "error" })],
    ["c", testResource("c", { updateStatus: "in_progress", runtimeStatus: "ok" })],
  ]);
  const by = (order: Parameters<typeof sortResources>[1]) =>
    sortResources([...all.keys()], order, (name) => all.get(name));
  expect(by(tiltfileOrder)).toEqual(["b", "A", "c"]);
  const name = nextSortOrder(tiltfileOrder, "name");
  expect(by(name)).toEqual(["A", "b", "c"]);
  expect(by(nextSortOrder(name, "name"))).toEqual(["c", "b", "A"]);
  expect(nextSortOrder(nextSortOrder(name, "name"), "name")).toEqual(tiltfileOrder);
  expect(by({ column: "update", descending: false })).toEqual(["A", "c", "b"]);
  expect(by({ column: "runtime", descending: false })).toEqual(["c", "b", "A"]);
});

test("commands are found by their words in any order", () => {
  const run = () => {};
  const all = ["Update web now", "web", "Disable web", "Overview"].map((label) => ({ label, run }));
  const labels = (text: string) => searchCommands(all, text).map((command) => command.label);
  expect(labels("WEB")).toEqual(["web", "Update web now", "Disable web"]);
  expect(labels("web upd")).toEqual(["Update web now"]);
  expect(labels("")).toHaveLength(4);
  expect(labels("nothing")).toEqual([]);
});

test("only turns are news", () => {
  const of = (...pairs: [string, OverallStatus][]) => new Map(pairs);
  expect(stateChanges(of(), of(["a", "error"]))).toEqual([]);
  expect(stateChanges(of(["a", "ok"]), of(["a", "error"]))).toEqual([{ name: "a", failed: true }]);
  expect(stateChanges(of(["a", "error"]), of(["a", "error"]))).toEqual([]);
  expect(stateChanges(of(["a", "error"]), of(["a", "ok"]))).toEqual([{ name: "a", failed: false }]);
  // An update that runs is no recovery, and failing again is no news.
  expect(keepErrorUntilOk("error", "busy")).toBe("error");
  expect(keepErrorUntilOk("ok", "busy")).toBe("busy");
});

describe("the timeline", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const update: UpdateRecord = {
    update: 1,
    cause: "",
    begin: at(0),
    end: at(6),
    outcome: "ok",
    stages: [
      { stage: "build", detail: "web", begin: at(0), end: at(4) },
      { stage: "ready", begin: at(6), end: at(8) },
    ] as UpdateRecord["stages"],
  };

  test("is to scale, with what follows the update", () => {
    const [build, ready] = stageBars(update, 0);
    expect(build).toMatchObject({ label: "build web", left: 0, width: 0.5, milliseconds: 4000 });
    expect(ready).toMatchObject({ label: "ready", left: 0.75, width: 0.25, running: false });
  });

  test("goes on to now while something runs", () => {
    const running = {
      ...update,
      end: null,
      stages: [{ ...update.stages[0], end: null }],
    } as unknown as UpdateRecord;
    const { begin, end } = timeRange(running, Date.parse(at(10)));
    expect(end - begin).toBe(10_000);
    expect(stageBars(running, Date.parse(at(10)))[0]).toMatchObject({ width: 1, running: true });
    // Of no length at all.
    expect(
      stageBars({ ...running, begin: at(10) } as UpdateRecord, Date.parse(at(10)))[0]?.width,
    ).toBeLessThanOrEqual(1);
  });
});

test("containers in words", () => {
  expect(describeContainer({ name: "a", ready: true, state: { running: {} } })).toBe("ready");
  expect(
    describeContainer({ name: "a", restarts: 3, state: { waiting: { reason: "CrashLoopBackOff" } } }),
  ).toBe("waiting: CrashLoopBackOff · 3 restarts");
  expect(describeContainer({ name: "a", state: { terminated: { reason: "Error", exitCode: 2 } } })).toBe(
    "ended: Error (2)",
  );
});
