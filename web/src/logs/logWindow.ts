/**
 * The part of a log that the page holds: some thousand wanted lines in a row, wherever the reader is.
 *
 * More are fetched when the reader comes near an edge, and as many are let go at the other one, so that the page's
 * memory does not grow with the log. At the end of the log new lines come by themselves.
 */

import { signal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import type { Line, LogPage } from "../generated/protocol";
import { retryDelay } from "../connection/connection";

export type PageStart = { from: number } | { before: number };

/** Where lines come from. */
export interface LogSource {
  page(query: string, way: PageStart, count: number, abort: AbortSignal): Promise<LogPage>;
  /** Calls back with lines as they come, until the function that it gives back is called. */
  follow(query: string, from: number, receive: Receive): () => void;
}

/** The session has understood the question and does not answer it: asking again is of no use. */
export class RejectedQueryError extends Error {}

/** What could not be fetched: all that was asked for, or what is before the rows or behind them. */
export type WindowPart = "whole" | "before" | "after";

export interface LoadFailure {
  message: string;
  /** It is asked for again by itself. */
  isTransient: boolean;
}

export type Receive = (lines: readonly Line[], next: number, gap: boolean) => void;

/** Rows held at most, and the letters in them. */
export const MAX_ROWS = 4_000;
export const MAX_TEXT = 6_000_000;
/** Rows fetched at once. */
export const PAGE_SIZE = 500;
/** And when one match is looked for, since headlines may come with it. */
const FIND_PAGE_SIZE = 20;
/** Before the line that one jumps to. */
const CONTEXT_LINES = 150;
/** Pieces are not put together beyond this length. A row draws only the beginning of a long line (see LogRow). */
const MAX_ROW_LENGTH = 2_000_000;

/** Past every line. */
const AFTER_LAST_LINE = Number.MAX_SAFE_INTEGER;

/** A further piece of a line, put together with those before it; undefined if it is none. */
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
    const whole = joinContinuation(rows.at(-1), line);
    if (whole) rows[rows.length - 1] = whole;
    else if (line.continues !== true || line.text !== "") rows.push(line);
  }
}

export class LogWindow {
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly loading = signal(true);
  readonly failures = signal<Partial<Record<WindowPart, LoadFailure>>>({});
  rows: Line[] = [];
  /** Nothing wanted is before the first row, or behind the last one. */
  isAtStart = false;
  isAtEnd = false;
  /** Other rows are being fetched: those that are held will be replaced. */
  isOpening = false;
  /** The reader looks at older lines: they must not be let go for newer ones. */
  keepsOldRows = false;

  /** Everything wanted between these two is in the rows. */
  #from = 0;
  #until = 0;
  #abort = new AbortController();
  /** What is being fetched. Before it is opened nothing is to be fetched beside. */
  #isLoading = { before: true, after: true };
  #unfollow: (() => void) | undefined;
  /** Ends the pauses before the next attempts. */
  readonly #pendingRetries = new Set<() => void>();

  constructor(
    private readonly source: LogSource,
    private readonly query: string,
    /** Lines before this number were cleared away. */
    private readonly clearedBefore: number,
  ) {}

  /** Shows the newest lines, and those that come. */
  async openAtEnd(): Promise<void> {
    await this.#open(async (abort) => {
      const page = await this.source.page(this.query, { before: AFTER_LAST_LINE }, PAGE_SIZE, abort);
      return { lines: page.lines, from: page.next, begin: page.begin, until: page.end, atEnd: true };
    });
  }

  /** The line is among the rows. */
  has(seq: number): boolean {
    return this.rows[findRowIndex(this.rows, seq)]?.seq === seq;
  }

  /**
   * Shows this line, or where it would be, with what is around it. It takes as long as nobody answers. False: something
   * else was asked for meanwhile.
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

  /** Fetches what is before the rows, or behind them, if that is not under way or there is nothing. */
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

  /** The nearest line of another question before or behind a line. */
  async find(query: string, way: PageStart, headlines: boolean): Promise<number | undefined> {
    let next: PageStart | undefined = way;
    while (next) {
      const page: LogPage = await this.source.page(query, next, FIND_PAGE_SIZE, this.#abort.signal);
      const forwards: boolean = "from" in next;
      // Where updates begin is told with any level, but is not what a level is looked for by.
      const lines: Line[] = page.lines.filter((line) => headlines || line.headline !== true);
      const found = forwards ? lines[0] : lines.at(-1);
      if (found) return found.seq >= this.clearedBefore ? found.seq : undefined;
      if (page.next === undefined) return undefined;
      next = forwards ? { from: page.next } : { before: page.next };
    }
    return undefined;
  }

  /** Asks at once for what failed. What is held stays. */
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

  /** Until it works or something else is wanted, with pauses that grow. */
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

  /** Undefined: until somebody wants it. */
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
    const whole = first && joinContinuation(rows.at(-1), first);
    if (whole) rows[rows.length - 1] = whole;
    this.rows = rows.concat(whole ? this.rows.slice(1) : this.rows);
    this.#from = page.next ?? page.begin;
    this.isAtStart = page.next === undefined || page.next <= this.clearedBefore;
    this.#trimBack();
  }

  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = this.source.follow(this.query, this.#until, (lines, next, gap) => {
      if (gap && this.keepsOldRows) {
        // What is read stays; what was passed over is fetched when it is wanted.
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
        // What is read stays; the rest is fetched when it is wanted.
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

  /** Lets go of the oldest rows, in steps so that it is cheap. */
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

/** Where a line is among rows, or the one that it would come behind; -1 before the first. */
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
