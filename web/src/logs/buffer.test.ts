import { describe, expect, test } from "vitest";
import type { Line } from "../generated/protocol";
import { LogBuffer } from "./buffer";
import { openView } from "./view";

function line(seq: number, change: Partial<Line> = {}): Line {
  return {
    seq,
    time: "2026-11-15T19:51:53.000001Z",
    resource: "api",
    span: "s",
    source: "runtime",
    level: "info",
    text: `line ${seq}`,
    ...change,
  };
}

function lines(from: number, until: number, change: (seq: number) => Partial<Line> = () => ({})): Line[] {
  return Array.from({ length: until - from }, (_, index) => line(from + index, change(from + index)));
}

const numbers = (found: readonly Line[]) => found.map(({ seq }) => seq);

describe("openView", () => {
  test("puts pieces of one line together", () => {
    const buffer = new LogBuffer();
    buffer.append([line(0, { text: "Name? ", open: true })]);
    const view = openView(buffer, {});
    buffer.append([
      line(1, { text: "Al", continues: true, open: true }),
      line(2, { text: "ice", continues: true }),
      line(3, { text: "next" }),
      line(4, { text: "web", span: "w", open: true }),
      line(5, { text: "between" }),
      line(6, { text: "", span: "w", continues: true }),
    ]);
    expect(view.lines.map(({ text }) => text)).toEqual(["Name? Alice", "next", "web", "between"]);
  });
});

describe("LogBuffer", () => {
  test("takes each line once", () => {
    const buffer = new LogBuffer();
    buffer.append(lines(5, 8));
    buffer.append(lines(6, 10));
    expect(numbers(buffer.lines)).toEqual([5, 6, 7, 8, 9]);
    expect(buffer.next).toBe(10);
  });

  test("starts anew after a gap", () => {
    const buffer = new LogBuffer();
    const view = openView(buffer, {});
    buffer.append(lines(0, 3));
    buffer.append(lines(7, 9));
    expect(numbers(buffer.lines)).toEqual([7, 8]);
    expect(numbers(view.lines)).toEqual([7, 8]);
  });

  test("puts older lines in front, if they fit", () => {
    const buffer = new LogBuffer();
    const view = openView(buffer, {});
    buffer.append(lines(10, 12));
    buffer.prepend(lines(5, 8));
    expect(numbers(buffer.lines)).toEqual([10, 11]);
    buffer.prepend(lines(8, 10));
    expect(numbers(view.lines)).toEqual([8, 9, 10, 11]);
    expect(view.shift).toBe(2);
  });

  test("drops the oldest when there are too many", () => {
    const buffer = new LogBuffer(1000);
    const view = openView(buffer, { text: "0" });
    for (let from = 0; from < 30_000; from += 500) buffer.append(lines(from, from + 500));
    expect(buffer.lines.length).toBeLessThanOrEqual(21_000);
    expect(buffer.next).toBe(30_000);
    expect(view.lines[0]?.seq).toBeGreaterThanOrEqual(buffer.first ?? -1);
    expect(numbers(view.lines)).toEqual(numbers(buffer.lines.filter(({ text }) => text.includes("0"))));
  });
});

describe("views", () => {
  test("of 100,000 lines see only what comes", () => {
    const buffer = new LogBuffer();
    buffer.append(lines(0, 100_000, (seq) => ({ resource: seq % 10 === 0 ? "web" : "api" })));
    const view = openView(buffer, { resource: "web" });
    expect(view.lines).toHaveLength(10_000);
    const held = view.lines;
    buffer.append([line(100_000, { resource: "web" }), line(100_001)]);
    expect(view.lines).toBe(held);
    expect(view.lines).toHaveLength(10_001);
    expect(view.version.value).toBe(1);
    buffer.append([line(100_002)]);
    expect(view.version.value).toBe(1);
    view.close();
    buffer.append([line(100_003, { resource: "web" })]);
    expect(view.lines).toHaveLength(10_001);
  });

  test("filter by resource, source, level and text together", () => {
    const buffer = new LogBuffer();
    buffer.append([
      line(0, { level: "error", source: "build", text: "\x1b[31mFa\x1b[0miled" }),
      line(1, { level: "warn" }),
      line(2, { resource: undefined }),
      line(3, { source: "build" }),
    ]);
    const found = (filter: Parameters<typeof openView>[1]) => numbers(openView(buffer, filter).lines);
    expect(found({})).toEqual([0, 1, 2, 3]);
    expect(found({ resource: "api" })).toEqual([0, 1, 3]);
    expect(found({ source: "build" })).toEqual([0, 3]);
    expect(found({ level: "warn" })).toEqual([0, 1]);
    expect(found({ level: "error" })).toEqual([0]);
    expect(found({ text: "FAILED" })).toEqual([0]);
    expect(found({ text: "line", source: "build" })).toEqual([3]);
  });
});
