import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Line, LogPage } from "../generated/protocol";
import {
  findRowIndex,
  LogWindow,
  MAX_ROWS,
  MAX_TEXT,
  PAGE_SIZE,
  RejectedQueryError,
  type LogSource,
  type Receive,
} from "./logWindow";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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

/** A log of `end` lines, generated on request; `matches` says which of them match the query. */
class FakeLog implements LogSource {
  receive: Receive | undefined;
  followedFrom: number | undefined;
  readonly special = new Map<number, Line>();

  constructor(
    public end: number,
    private readonly matches: (seq: number) => boolean = () => true,
    /** How many lines one request searches. */
    private readonly linesPerRequest = Infinity,
  ) {}

  async page(
    _query: string,
    pageStart: { from: number } | { before: number },
    count: number,
  ): Promise<LogPage> {
    const { end } = this;
    const forwards = "from" in pageStart;
    const step = forwards ? 1 : -1;
    let at = forwards ? pageStart.from : Math.min(pageStart.before, end) - 1;
    const lines: Line[] = [];
    for (
      let searched = 0;
      searched < this.linesPerRequest && lines.length < count && at >= 0 && at < end;
      searched++, at += step
    ) {
      if (this.matches(at)) lines.push(this.special.get(at) ?? line(at));
    }
    const next = forwards ? (at < end ? at : undefined) : at >= 0 ? at + 1 : undefined;
    return { lines: forwards ? lines : lines.reverse(), begin: 0, end, ...(next !== undefined && { next }) };
  }

  follow(_query: string, from: number, receive: Receive) {
    this.followedFrom = from;
    this.receive = receive;
    return () => {
      this.followedFrom = undefined;
      this.receive = undefined;
    };
  }

  grow(count: number, change: Partial<Line> = {}): void {
    const from = this.end;
    this.end += count;
    const newLines = Array.from({ length: count }, (_, index) => line(from + index, change));
    this.receive?.(newLines, this.end, false);
  }
}

const firstAndLast = (window: LogWindow) => [window.rows[0]?.seq, window.rows.at(-1)?.seq];

describe("log window", () => {
  test("opens at the end, follows the log, and loads back to the start", async () => {
    const source = new FakeLog(20_000);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    expect(firstAndLast(window)).toEqual([20_000 - PAGE_SIZE, 19_999]);
    expect([window.isAtStart, window.isAtEnd, source.followedFrom]).toEqual([false, true, 20_000]);
    source.grow(3);
    expect(window.rows.at(-1)?.seq).toBe(20_002);
    while (!window.isAtStart) await window.loadBefore();
    expect(window.rows[0]?.seq).toBe(0);
    expect(window.rows.length).toBeLessThanOrEqual(MAX_ROWS);
    // Far from the end, new lines are not received.
    expect([window.isAtEnd, source.followedFrom]).toEqual([false, undefined]);
    while (!window.isAtEnd) await window.loadAfter();
    expect(window.rows.at(-1)?.seq).toBe(20_002);
    expect(window.rows.every((row, index) => row.seq === (window.rows[0]?.seq ?? 0) + index)).toBe(true);
    expect(source.followedFrom).toBe(20_003);
  });

  test("opens at a line with the lines around it", async () => {
    const window = new LogWindow(new FakeLog(1_000_000), "", 0);
    await window.openAt(500_000);
    const at = findRowIndex(window.rows, 500_000);
    expect(window.rows[at]?.seq).toBe(500_000);
    expect(at).toBeGreaterThan(100);
    expect(window.rows.length - at).toBeGreaterThan(100);
  });

  test("continues through pages without matching lines", async () => {
    const source = new FakeLog(10_000, (seq) => seq % 1_000 === 7, 500);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    expect(window.rows).toEqual([]);
    while (!window.isAtStart) await window.loadBefore();
    expect(window.rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, at) => at * 1_000 + 7));
    expect(await window.find("", { from: 3_008 }, true)).toBe(4_007);
    expect(await window.find("", { before: 3_007 }, true)).toBe(2_007);
    expect(await window.find("", { before: 7 }, true)).toBeUndefined();
  });

  test("stays within its limits while the log grows", async () => {
    const source = new FakeLog(0);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    for (let turn = 0; turn < 50; turn++) source.grow(1_000);
    expect(window.rows.length).toBeLessThanOrEqual(MAX_ROWS);
    expect(window.rows.at(-1)?.seq).toBe(49_999);
    source.grow(20, { text: "x".repeat(900_000) });
    const text = window.rows.reduce((sum, row) => sum + row.text.length, 0);
    expect(text).toBeLessThanOrEqual(MAX_TEXT);
  });

  test("keeps old rows while the user reads them", async () => {
    const source = new FakeLog(1_000);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    window.keepsOldRows = true;
    const [first] = firstAndLast(window);
    for (let turn = 0; turn < 10; turn++) source.grow(1_000);
    expect(window.rows[0]?.seq).toBe(first);
    expect(window.isAtEnd).toBe(false);
    await window.loadAfter();
    expect(window.rows.at(-1)?.seq).toBeGreaterThan(4_000);
  });

  test("shows no cleared lines", async () => {
    const source = new FakeLog(100);
    const window = new LogWindow(source, "", 100);
    await window.openAtEnd();
    expect([window.rows.length, window.isAtStart]).toEqual([0, true]);
    source.grow(2);
    expect(firstAndLast(window)).toEqual([100, 101]);
    expect(await window.find("", { before: 100 }, true)).toBeUndefined();
  });

  test("joins the pieces of a line, also across pages", async () => {
    const source = new FakeLog(PAGE_SIZE + 1);
    source.special.set(0, line(0, { text: "Name? ", open: true }));
    source.special.set(1, line(1, { text: "Ada", continues: true }));
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    expect(window.rows[0]?.text).toBe("Ada");
    await window.loadBefore();
    expect(window.rows[0]?.text).toBe("Name? Ada");
    expect(window.rows.length).toBe(PAGE_SIZE);
  });

  test("keeps its rows after a gap while the user reads old lines", async () => {
    const source = new FakeLog(10);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    window.keepsOldRows = true;
    source.end = 50_001;
    source.receive?.([line(50_000)], 50_001, true);
    expect(firstAndLast(window)).toEqual([0, 9]);
    expect([window.isAtEnd, source.followedFrom]).toEqual([false, undefined]);
    // The skipped lines are loaded on request.
    await window.loadAfter();
    expect(firstAndLast(window)).toEqual([0, 9 + PAGE_SIZE]);
  });

  test("starts over after a gap while following", async () => {
    const source = new FakeLog(10);
    const window = new LogWindow(source, "", 0);
    await window.openAtEnd();
    source.receive?.([line(50_000)], 50_001, true);
    expect(firstAndLast(window)).toEqual([50_000, 50_000]);
    expect(window.isAtStart).toBe(false);
  });

  test("reports a rejected query and does not retry it", async () => {
    const source = new FakeLog(0);
    const request = vi.fn(async () => {
      throw new RejectedQueryError("unclosed group");
    });
    source.page = request;
    const window = new LogWindow(source, "", 0);
    const opening = window.openAt(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(window.failures.value.whole).toEqual({ message: "unclosed group", isTransient: false });
    expect(request).toHaveBeenCalledTimes(2);
    // Another window replaces it.
    window.close();
    expect(await opening).toBe(false);
  });
});

describe("log window without a response", () => {
  async function openWithFailures(failingStart: "before" | "from") {
    const source = new FakeLog(20_000);
    const window = new LogWindow(source, "", 0);
    await window.openAt(10_000);
    const page = source.page.bind(source);
    const request = vi.fn();
    const repaired = { now: false };
    source.page = async (query, pageStart, count) => {
      if (!(failingStart in pageStart) || repaired.now) return page(query, pageStart, count);
      request();
      throw new Error("no connection to lilt");
    };
    return { window, request, repaired };
  }

  test.each(["before", "after"] as const)("retries to load the lines %s the rows", async (side) => {
    const { window, request, repaired } = await openWithFailures(side === "before" ? "before" : "from");
    const load = () => (side === "before" ? window.loadBefore() : window.loadAfter());
    const [first, last] = firstAndLast(window);
    const loaded = load();
    await vi.advanceTimersByTimeAsync(0);
    expect(window.failures.value).toEqual({
      [side]: { message: "no connection to lilt", isTransient: true },
    });
    // A second load of the same side sends no request.
    await Promise.race([load(), Promise.resolve()]);
    expect(request).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(60_000);
    // Many attempts, but with growing delays.
    expect(request.mock.calls.length).toBeGreaterThan(5);
    expect(request.mock.calls.length).toBeLessThan(30);
    // The other side still loads, and the rows stay.
    await (side === "before" ? window.loadAfter() : window.loadBefore());
    repaired.now = true;
    await vi.advanceTimersByTimeAsync(10_000);
    await loaded;
    expect(window.failures.value).toEqual({});
    expect(firstAndLast(window)).toEqual([(first ?? 0) - PAGE_SIZE, (last ?? 0) + PAGE_SIZE]);
  });

  test("retries at once on request and keeps its rows", async () => {
    const { window, request, repaired } = await openWithFailures("before");
    const [first] = firstAndLast(window);
    void window.loadBefore();
    await vi.advanceTimersByTimeAsync(20_000);
    const before = request.mock.calls.length;
    repaired.now = true;
    window.retry();
    await vi.advanceTimersByTimeAsync(0);
    expect(request.mock.calls.length).toBe(before);
    expect(window.rows[0]?.seq).toBe((first ?? 0) - PAGE_SIZE);
    expect(window.has(10_000)).toBe(true);
  });
});
