import { describe, expect, test } from "vitest";
import type { UpdateRecord } from "../generated/protocol";
import type { UIButton } from "./buttonTypes";
import { Buttons } from "./buttonStore";
import { asks, firstAnswers, microTime } from "./buttonClick";
import { containerWords } from "./clusterDetails";
import { found } from "./commandSearch";
import { settle, turns } from "./notifications";
import { asDeclared, nextOrder, sorted } from "./sortOrder";
import { resource } from "./testData";
import type { Overall } from "./status";
import { barsOf, extentOf } from "./timeline";

function button(name: string, spec: Partial<UIButton["spec"]> = {}): UIButton {
  const location = { componentType: "Resource", componentID: "api" };
  return { metadata: { name }, spec: { text: name, location, ...spec } };
}

describe("buttons", () => {
  test("are found by where they are shown", () => {
    const buttons = new Buttons();
    const nav = { componentType: "Global", componentID: "nav" };
    buttons.apply({
      type: "buttons",
      complete: true,
      buttons: [button("b"), button("a"), button("n", { location: nav })],
      removed: [],
    });
    expect(buttons.of("api").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    expect(buttons.global.map(({ metadata }) => metadata.name)).toEqual(["n"]);
    buttons.apply({ type: "buttons", complete: false, buttons: [], removed: ["a"] });
    expect(buttons.of("api")).toHaveLength(1);
    expect(buttons.of("web")).toEqual([]);
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
    expect(firstAnswers(asked)).toEqual([
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
    const values = firstAnswers(asked);
    expect(values[0]).toEqual({ name: "who", text: { value: "Grace" } });
    expect(values[2]).toEqual({ name: "tone", choice: { value: "warm" } });
    expect(values[3]).toEqual({ name: "key", hidden: { value: "x" } });
  });

  test("ask only for what a person can say", () => {
    expect(asks(button("a"))).toBe(false);
    expect(asks(button("a", { inputs: [{ name: "h", hidden: { value: "" } }] }))).toBe(false);
    expect(asks(button("a", { requiresConfirmation: true }))).toBe(true);
    expect(asks(button("a", { inputs: [{ name: "t", text: {} }] }))).toBe(true);
    expect(microTime(new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6)))).toBe("2026-01-02T03:04:05.006000Z");
  });
});

test("rows are sorted by what needs attention", () => {
  const all = new Map([
    ["b", resource("b", { updateStatus: "ok" })],
    ["A", resource("A", { updateStatus: "error" })],
    ["c", resource("c", { updateStatus: "in_progress", runtimeStatus: "ok" })],
  ]);
  const by = (order: Parameters<typeof sorted>[1]) => sorted([...all.keys()], order, (name) => all.get(name));
  expect(by(asDeclared)).toEqual(["b", "A", "c"]);
  const name = nextOrder(asDeclared, "name");
  expect(by(name)).toEqual(["A", "b", "c"]);
  expect(by(nextOrder(name, "name"))).toEqual(["c", "b", "A"]);
  expect(nextOrder(nextOrder(name, "name"), "name")).toEqual(asDeclared);
  expect(by({ column: "update", descending: false })).toEqual(["A", "c", "b"]);
  expect(by({ column: "runtime", descending: false })).toEqual(["c", "b", "A"]);
});

test("commands are found by their words in any order", () => {
  const run = () => {};
  const all = ["Update web now", "web", "Disable web", "Overview"].map((words) => ({ words, run }));
  const words = (text: string) => found(all, text).map((command) => command.words);
  expect(words("WEB")).toEqual(["web", "Update web now", "Disable web"]);
  expect(words("web upd")).toEqual(["Update web now"]);
  expect(words("")).toHaveLength(4);
  expect(words("nothing")).toEqual([]);
});

test("only turns are news", () => {
  const of = (...pairs: [string, Overall][]) => new Map(pairs);
  expect(turns(of(), of(["a", "error"]))).toEqual([]);
  expect(turns(of(["a", "ok"]), of(["a", "error"]))).toEqual([{ name: "a", failed: true }]);
  expect(turns(of(["a", "error"]), of(["a", "error"]))).toEqual([]);
  expect(turns(of(["a", "error"]), of(["a", "ok"]))).toEqual([{ name: "a", failed: false }]);
  // An update that runs is no recovery, and failing again is no news.
  expect(settle("error", "busy")).toBe("error");
  expect(settle("ok", "busy")).toBe("busy");
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
    const [build, ready] = barsOf(update, 0);
    expect(build).toMatchObject({ words: "build web", left: 0, width: 0.5, milliseconds: 4000 });
    expect(ready).toMatchObject({ words: "ready", left: 0.75, width: 0.25, running: false });
  });

  test("goes on to now while something runs", () => {
    const running = {
      ...update,
      end: null,
      stages: [{ ...update.stages[0], end: null }],
    } as unknown as UpdateRecord;
    const { begin, end } = extentOf(running, Date.parse(at(10)));
    expect(end - begin).toBe(10_000);
    expect(barsOf(running, Date.parse(at(10)))[0]).toMatchObject({ width: 1, running: true });
    // Of no length at all.
    expect(
      barsOf({ ...running, begin: at(10) } as UpdateRecord, Date.parse(at(10)))[0]?.width,
    ).toBeLessThanOrEqual(1);
  });
});

test("containers in words", () => {
  expect(containerWords({ name: "a", ready: true, state: { running: {} } })).toBe("ready");
  expect(containerWords({ name: "a", restarts: 3, state: { waiting: { reason: "CrashLoopBackOff" } } })).toBe(
    "waiting: CrashLoopBackOff · 3 restarts",
  );
  expect(containerWords({ name: "a", state: { terminated: { reason: "Error", exitCode: 2 } } })).toBe(
    "ended: Error (2)",
  );
});
