/**
 * The part of a log that the page holds in memory: some thousand consecutive matching lines.
 *
 * More lines are loaded when the user scrolls near an edge, and lines at the other edge are dropped, so that memory
 * does not grow with the log. At the end of the log, new lines are appended as they arrive.
 */

import { signal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import type { Line, LogPage } from "../generated/protocol";
import { retryDelay } from "../connection/connection";

export type PageStart = { from: number } | { before: number };

/** Where lines are loaded from. */
export interface LogSource {
  page(query: string, way: PageStart, count: number, abort: AbortSignal): Promise<LogPage>;
  /** Calls `receive` with new lines until the returned function is called. */
  follow(query: string, from: number, receive: Receive): () => void;
}

/** The session rejected the query: a retry would not help. */
export class RejectedQueryError extends Error {}

/** What could not be loaded: the whole window, or lines before or after it. */
export type WindowPart = "whole" | "before" | "after";

export interface LoadFailure {
  message: string;
  /** It is retried automatically. */
  isTransient: boolean;
}

export type Receive = (lines: readonly Line[], next: number, gap: boolean) => void;

/** The limits of a window: its rows and their total text length. */
export const MAX_ROWS = 4_000;
export const MAX_TEXT = 6_000_000;
/** Rows per request. */
export const PAGE_SIZE = 500;
/** Smaller when a single match is searched, which may come with headlines. */
const FIND_PAGE_SIZE = 20;
/** Lines loaded before the line that the user jumps to. */
const CONTEXT_LINES = 150;
/** Pieces are not joined beyond this length. A row renders only the start of a long line (see `LogRow`). */
const MAX_ROW_LENGTH = 2_000_000;

/** Greater than the number of any line. */
const AFTER_LAST_LINE = Number.MAX_SAFE_INTEGER;

/** Joins a line to the last row that it continues. Returns undefined if it is not a continuation. */
function joinContinuation(last: Line | undefined, line: Line): Line | undefined {
  const belongsTogether =
    line.continues === true &&
    last?.open === true &&
    last.span === line.span &&
    last.text.length + line.text.length <= MAX_ROW_LENGTH;
  return belongsTogether ? { ...last, text: last.text + line.text, open: line.open ?? false } : undefined;
}

function appendLines(rows: Line[], lines: readonly Line[]): void {
  for (const line of lines) {
    const joinedLine = joinContinuation(rows.at(-1), line);
    if (joinedLine) rows[rows.length - 1] = joinedLine;
    else if (line.continues !== true || line.text !== "") rows.push(line);
  }
}

export class LogWindow {
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly loading = signal(true);
  readonly failures = signal<Partial<Record<WindowPart, LoadFailure>>>({});
  rows: Line[] = [];
  /** There are no matching lines before the first or after the last row. */
  isAtStart = false;
  isAtEnd = false;
  /** Other rows are loading and will replace all current ones. */
  isOpening = false;
  /** The user reads older lines: they must not be dropped for new ones. */
  keepsOldRows = false;

  /** All matching lines from `#from` to before `#until` are in the rows. */
  #from = 0;
  #until = 0;
  #abort = new AbortController();
  /** Which sides are loading. Both, until the window is opened. */
  #isLoading = { before: true, after: true };
  #unfollow: (() => void) | undefined;
  /** Functions that end the delay before a retry. */
  readonly #pendingRetries = new Set<() => void>();

  constructor(
    private readonly source: LogSource,
    private readonly query: string,
    /** Lines before this number were cleared. */
    private readonly clearedBefore: number,
  ) {}

  /** Loads the newest lines and follows the log. */
  async openAtEnd(): Promise<void> {
    await this.#open(async (abort) => {
      const page = await this.source.page(this.query, { before: AFTER_LAST_LINE }, PAGE_SIZE, abort);
      return { lines: page.lines, from: page.next, begin: page.begin, until: page.end, atEnd: true };
    });
  }

  /** Returns whether the line is among the rows. */
  has(seq: number): boolean {
    return this.rows[findRowIndex(this.rows, seq)]?.seq === seq;
  }

  /**
   * Loads the line, or the place where it would be, with the lines around it. Retries until it succeeds.
   *
   * Returns false if the window was opened elsewhere or closed meanwhile.
   */
  async openAt(seq: number): Promise<boolean> {
    return this.#open(async (abort) => {
      const [before, after] = await Promise.all([
        this.source.page(this.query, { before: seq }, CONTEXT_LINES, abort),
        this.source.page(this.query, { from: seq }, PAGE_SIZE, abort),
      ]);
      const last = after.lines.at(-1);
      return {
        lines: [...before.lines, ...after.lines],
        from: before.next,
        begin: before.begin,
        until: after.next ?? Math.max(after.end, last ? last.seq + 1 : 0),
        atEnd: after.next === undefined,
      };
    });
  }

  /** Loads lines before or after the rows, unless they are loading or there are none. */
  async loadBefore(): Promise<void> {
    if (this.isAtStart || this.#isLoading.before) return;
    await this.#loadSide("before", async (abort) => {
      const page = await this.source.page(this.query, { before: this.#from }, PAGE_SIZE, abort);
      if (!abort.aborted) this.#prepend(page);
    });
  }

  async loadAfter(): Promise<void> {
    if (this.isAtEnd || this.#isLoading.after) return;
    await this.#loadSide("after", async (abort) => {
      const page = await this.source.page(this.query, { from: this.#until }, PAGE_SIZE, abort);
      if (abort.aborted) return;
      this.#until = page.next ?? Math.max(page.end, this.#until, (page.lines.at(-1)?.seq ?? -1) + 1);
      this.isAtEnd = page.next === undefined;
      appendLines(this.rows, page.lines);
      this.#trimFront();
      if (this.isAtEnd) this.#follow();
    });
  }

  /** Returns the nearest line that matches another query, before or after a line. */
  async find(query: string, way: PageStart, headlines: boolean): Promise<number | undefined> {
    let next: PageStart | undefined = way;
    while (next) {
      const page: LogPage = await this.source.page(query, next, FIND_PAGE_SIZE, this.#abort.signal);
      const forwards: boolean = "from" in next;
      // Headlines of updates are sent for every level, but are not what a search for errors is after.
      const lines: Line[] = page.lines.filter((line) => headlines || line.headline !== true);
      const match = forwards ? lines[0] : lines.at(-1);
      if (match) return match.seq >= this.clearedBefore ? match.seq : undefined;
      if (page.next === undefined) return undefined;
      next = forwards ? { from: page.next } : { before: page.next };
    }
    return undefined;
  }

  /** Retries failed requests now. The rows stay. */
  retry(): void {
    for (const wake of this.#pendingRetries) wake();
  }

  close(): void {
    this.#abort.abort();
    this.retry();
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  async #open(fetch: (abort: AbortSignal) => Promise<WindowContent>): Promise<boolean> {
    this.close();
    this.#abort = new AbortController();
    this.#isLoading = { before: true, after: true };
    this.isOpening = true;
    const abort = this.#abort.signal;
    this.failures.value = {};
    await this.#retryUntilDone("whole", abort, async () => {
      const opened = await fetch(abort);
      if (abort.aborted) return;
      this.#isLoading = { before: false, after: false };
      this.isOpening = false;
      this.rows = [];
      appendLines(
        this.rows,
        opened.lines.filter((line) => line.seq >= this.clearedBefore),
      );
      this.#from = opened.from ?? opened.begin;
      this.isAtStart = opened.from === undefined || opened.from <= this.clearedBefore;
      this.#until = opened.until;
      this.isAtEnd = opened.atEnd;
      if (this.isAtEnd) this.#follow();
    });
    return !abort.aborted;
  }

  async #loadSide(side: "before" | "after", work: (abort: AbortSignal) => Promise<void>): Promise<void> {
    const abort = this.#abort.signal;
    const busy = this.#isLoading;
    busy[side] = true;
    await this.#retryUntilDone(side, abort, () => work(abort));
    busy[side] = false;
  }

  /** Retries until it succeeds or the window is opened elsewhere, with growing delays. */
  async #retryUntilDone(part: WindowPart, abort: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; !abort.aborted; attempt++) {
      this.loading.value = true;
      let failure: LoadFailure | undefined;
      try {
        await work();
      } catch (error) {
        const message = errorMessage(error);
        failure = { message, isTransient: !(error instanceof RejectedQueryError) };
      }
      if (abort.aborted) return;
      this.#setFailure(part, failure);
      this.loading.value = false;
      this.#notify();
      if (!failure) return;
      await this.#waitForRetry(failure.isTransient ? retryDelay(attempt, Math.random()) : undefined);
    }
  }

  #setFailure(part: WindowPart, failure: LoadFailure | undefined): void {
    const { [part]: _previous, ...others } = this.failures.peek();
    this.failures.value = failure ? { ...others, [part]: failure } : others;
  }

  /** Waits for the delay, or until `retry()` if it is undefined. */
  #waitForRetry(milliseconds: number | undefined): Promise<void> {
    return new Promise((done) => {
      const wake = () => {
        clearTimeout(timer);
        this.#pendingRetries.delete(wake);
        done();
      };
      const timer = milliseconds === undefined ? undefined : setTimeout(wake, milliseconds);
      this.#pendingRetries.add(wake);
    });
  }

  #prepend(page: LogPage): void {
    const rows: Line[] = [];
    appendLines(
      rows,
      page.lines.filter((line) => line.seq >= this.clearedBefore),
    );
    const first = this.rows[0];
    const joinedLine = first && joinContinuation(rows.at(-1), first);
    if (joinedLine) rows[rows.length - 1] = joinedLine;
    this.rows = rows.concat(joinedLine ? this.rows.slice(1) : this.rows);
    this.#from = page.next ?? page.begin;
    this.isAtStart = page.next === undefined || page.next <= this.clearedBefore;
    this.#trimBack();
  }

  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = this.source.follow(this.query, this.#until, (lines, next, gap) => {
      if (gap && this.keepsOldRows) {
        // The rows stay; the skipped lines are loaded when the user scrolls there.
        this.#detachFromEnd();
        this.#notify();
        return;
      }
      if (gap) {
        this.rows = [];
        this.#from = lines[0]?.seq ?? next;
        this.isAtStart = false;
      }
      appendLines(this.rows, lines);
      this.#until = next;
      if (this.keepsOldRows && this.#exceedsLimits()) {
        // The rows stay; newer lines are loaded when the user scrolls there.
        this.#detachFromEnd();
      } else {
        this.#trimFront();
      }
      this.#notify();
    });
  }

  #detachFromEnd(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.isAtEnd = false;
  }

  #exceedsLimits(): boolean {
    return this.rows.length > MAX_ROWS || textLength(this.rows) > MAX_TEXT;
  }

  /** Drops the oldest rows, many at once to do it rarely. */
  #trimFront(): void {
    if (!this.#exceedsLimits()) return;
    let drop = Math.max(0, this.rows.length - MAX_ROWS + PAGE_SIZE);
    let text = textLength(this.rows.slice(drop));
    while (text > MAX_TEXT && drop < this.rows.length - 1) text -= this.rows[drop++]?.text.length ?? 0;
    this.rows = this.rows.slice(drop);
    this.#from = this.rows[0]?.seq ?? this.#from;
    this.isAtStart = false;
  }

  #trimBack(): void {
    if (!this.#exceedsLimits()) return;
    let keep = Math.min(this.rows.length, MAX_ROWS - PAGE_SIZE);
    let text = textLength(this.rows.slice(0, keep));
    while (text > MAX_TEXT && keep > 1) text -= this.rows[--keep]?.text.length ?? 0;
    this.#until = this.rows[keep]?.seq ?? this.#until;
    this.rows = this.rows.slice(0, keep);
    this.#detachFromEnd();
  }

  #notify(): void {
    this.version.value++;
  }
}

interface WindowContent {
  lines: readonly Line[];
  from: number | undefined;
  begin: number;
  until: number;
  atEnd: boolean;
}

function textLength(rows: readonly Line[]): number {
  return rows.reduce((sum, row) => sum + row.text.length, 0);
}

/** Returns the index of the row with this line number, otherwise of the last row before it; -1 if there is none. */
export function findRowIndex(rows: readonly Line[], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
