import { describe, expect, test } from "vitest";
import type { UpdateRecord } from "../generated/protocol";
import { stageBars, timeRange } from "./timeline";

describe("timeline", () => {
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

  test("scales stages, including those after the update", () => {
    const [build, ready] = stageBars(update, 0);
    expect(build).toMatchObject({ label: "build web", left: 0, width: 0.5, milliseconds: 4000 });
    expect(ready).toMatchObject({ label: "ready", left: 0.75, width: 0.25, running: false });
  });

  test("extends running stages to the current time", () => {
    const running = {
      ...update,
      end: null,
      stages: [{ ...update.stages[0], end: null }],
    } as unknown as UpdateRecord;
    const { begin, end } = timeRange(running, Date.parse(at(10)));
    expect(end - begin).toBe(10_000);
    expect(stageBars(running, Date.parse(at(10)))[0]).toMatchObject({ width: 1, running: true });
    // An update without any duration.
    expect(
      stageBars({ ...running, begin: at(10) } as UpdateRecord, Date.parse(at(10)))[0]?.width,
    ).toBeLessThanOrEqual(1);
  });
});
