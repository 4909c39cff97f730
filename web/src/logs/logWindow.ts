/**
 * The part of a log that the page holds: some thousand wanted lines in a row, wherever the reader is.
 *
 * More are fetched when the reader comes near an edge, and as many are let go at the other one, so that the page's
 * memory does not grow with the log. At the end of the log new lines come by themselves.
 */

import { signal } from "@preact/signals";
import type { Line, LogPage } from "../generated/protocol";
import { pause } from "../connection/connection";

export type Way = { from: number } | { before: number };

/** Where lines come from. */
export interface LogSource {
  page(query: string, way: Way, count: number, abort: AbortSignal): Promise<LogPage>;
  /** Calls back with lines as they come, until the function that it gives back is called. */
  follow(query: string, from: number, receive: Receive): () => void;
}

/** The session has understood the question and does not answer it: asking again is of no use. */
export class Refusal extends Error {}

/** What could not be fetched: all that was asked for, or what is before the rows or behind them. */
export type Part = "whole" | "before" | "after";

export interface Failure {
  words: string;
  /** It is asked for again by itself. */
  passing: boolean;
}

export type Receive = (lines: readonly Line[], next: number, gap: boolean) => void;

/** Rows held at most, and the letters in them. */
export const MOST_ROWS = 4_000;
export const MOST_TEXT = 6_000_000;
/** Rows fetched at once. */
export const PAGE = 500;
/** And when one match is looked for, since headlines may come with it. */
const FOUND = 20;
/** Before the line that one jumps to. */
const CONTEXT = 150;
/** Pieces are not put together beyond this length. A row draws only the beginning of a long line (see LogRow). */
const LONGEST_ROW = 2_000_000;

/** Past every line. */
const NEWEST = Number.MAX_SAFE_INTEGER;

/** A further piece of a line, put together with those before it; undefined if it is none. */
function joined(last: Line | undefined, line: Line): Line | undefined {
  const together =
    line.continues === true &&
    last?.open === true &&
    last.span === line.span &&
    last.text.length + line.text.length <= LONGEST_ROW;
  return together ? { ...last, text: last.text + line.text, open: line.open ?? false } : undefined;
}

function append(rows: Line[], lines: readonly Line[]): void {
  for (const line of lines) {
    const whole = joined(rows.at(-1), line);
    if (whole) rows[rows.length - 1] = whole;
    else if (line.continues !== true || line.text !== "") rows.push(line);
  }
}

export class LogWindow {
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly loading = signal(true);
  readonly failures = signal<Partial<Record<Part, Failure>>>({});
  rows: Line[] = [];
  /** Nothing wanted is before the first row, or behind the last one. */
  atBegin = false;
  atEnd = false;
  /** Other rows are being fetched: those that are held will be replaced. */
  opening = false;
  /** The reader looks at older lines: they must not be let go for newer ones. */
  reading = false;

  /** Everything wanted between these two is in the rows. */
  #from = 0;
  #until = 0;
  #abort = new AbortController();
  /** What is being fetched. Before it is opened nothing is to be fetched beside. */
  #busy = { before: true, after: true };
  #unfollow: (() => void) | undefined;
  /** Ends the pauses before the next attempts. */
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly source: LogSource,
    private readonly query: string,
    /** Lines before this number were cleared away. */
    private readonly floor: number,
  ) {}

  /** Shows the newest lines, and those that come. */
  async openAtEnd(): Promise<void> {
    await this.#open(async (abort) => {
      const page = await this.source.page(this.query, { before: NEWEST }, PAGE, abort);
      return { lines: page.lines, from: page.next, begin: page.begin, until: page.end, atEnd: true };
    });
  }

  /** The line is among the rows. */
  has(seq: number): boolean {
    return this.rows[indexOf(this.rows, seq)]?.seq === seq;
  }

  /**
   * Shows this line, or where it would be, with what is around it. It takes as long as nobody answers. False: something
   * else was asked for meanwhile.
   */
  async openAt(seq: number): Promise<boolean> {
    return this.#open(async (abort) => {
      const [before, after] = await Promise.all([
        this.source.page(this.query, { before: seq }, CONTEXT, abort),
        this.source.page(this.query, { from: seq }, PAGE, abort),
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
    if (this.atBegin || this.#busy.before) return;
    await this.#load("before", async (abort) => {
      const page = await this.source.page(this.query, { before: this.#from }, PAGE, abort);
      if (!abort.aborted) this.#prepend(page);
    });
  }

  async loadAfter(): Promise<void> {
    if (this.atEnd || this.#busy.after) return;
    await this.#load("after", async (abort) => {
      const page = await this.source.page(this.query, { from: this.#until }, PAGE, abort);
      if (abort.aborted) return;
      this.#until = page.next ?? Math.max(page.end, this.#until, (page.lines.at(-1)?.seq ?? -1) + 1);
      this.atEnd = page.next === undefined;
      append(this.rows, page.lines);
      this.#trimFront();
      if (this.atEnd) this.#follow();
    });
  }

  /** The nearest line of another question before or behind a line. */
  async find(query: string, way: Way, headlines: boolean): Promise<number | undefined> {
    let next: Way | undefined = way;
    while (next) {
      const page: LogPage = await this.source.page(query, next, FOUND, this.#abort.signal);
      const forwards: boolean = "from" in next;
      // Where updates begin is told with any level, but is not what a level is looked for by.
      const lines: Line[] = page.lines.filter((line) => headlines || line.headline !== true);
      const found = forwards ? lines[0] : lines.at(-1);
      if (found) return found.seq >= this.floor ? found.seq : undefined;
      if (page.next === undefined) return undefined;
      next = forwards ? { from: page.next } : { before: page.next };
    }
    return undefined;
  }

  /** Asks at once for what failed. What is held stays. */
  retry(): void {
    for (const wake of this.#waiting) wake();
  }

  close(): void {
    this.#abort.abort();
    this.retry();
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  async #open(fetch: (abort: AbortSignal) => Promise<Opened>): Promise<boolean> {
    this.close();
    this.#abort = new AbortController();
    this.#busy = { before: true, after: true };
    this.opening = true;
    const abort = this.#abort.signal;
    this.failures.value = {};
    await this.#attempt("whole", abort, async () => {
      const opened = await fetch(abort);
      if (abort.aborted) return;
      this.#busy = { before: false, after: false };
      this.opening = false;
      this.rows = [];
      append(
        this.rows,
        opened.lines.filter((line) => line.seq >= this.floor),
      );
      this.#from = opened.from ?? opened.begin;
      this.atBegin = opened.from === undefined || opened.from <= this.floor;
      this.#until = opened.until;
      this.atEnd = opened.atEnd;
      if (this.atEnd) this.#follow();
    });
    return !abort.aborted;
  }

  async #load(side: "before" | "after", work: (abort: AbortSignal) => Promise<void>): Promise<void> {
    const abort = this.#abort.signal;
    const busy = this.#busy;
    busy[side] = true;
    await this.#attempt(side, abort, () => work(abort));
    busy[side] = false;
  }

  /** Until it works or something else is wanted, with pauses that grow. */
  async #attempt(part: Part, abort: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let turn = 0; !abort.aborted; turn++) {
      this.loading.value = true;
      let failure: Failure | undefined;
      try {
        await work();
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        failure = { words, passing: !(error instanceof Refusal) };
      }
      if (abort.aborted) return;
      this.#tell(part, failure);
      this.loading.value = false;
      this.#changed();
      if (!failure) return;
      await this.#pause(failure.passing ? pause(turn, Math.random()) : undefined);
    }
  }

  #tell(part: Part, failure: Failure | undefined): void {
    const { [part]: _told, ...others } = this.failures.peek();
    this.failures.value = failure ? { ...others, [part]: failure } : others;
  }

  /** Undefined: until somebody wants it. */
  #pause(milliseconds: number | undefined): Promise<void> {
    return new Promise((done) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        done();
      };
      const timer = milliseconds === undefined ? undefined : setTimeout(wake, milliseconds);
      this.#waiting.add(wake);
    });
  }

  #prepend(page: LogPage): void {
    const rows: Line[] = [];
    append(
      rows,
      page.lines.filter((line) => line.seq >= this.floor),
    );
    const first = this.rows[0];
    const whole = first && joined(rows.at(-1), first);
    if (whole) rows[rows.length - 1] = whole;
    this.rows = rows.concat(whole ? this.rows.slice(1) : this.rows);
    this.#from = page.next ?? page.begin;
    this.atBegin = page.next === undefined || page.next <= this.floor;
    this.#trimBack();
  }

  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = this.source.follow(this.query, this.#until, (lines, next, gap) => {
      if (gap && this.reading) {
        // What is read stays; what was passed over is fetched when it is wanted.
        this.#letGoOfEnd();
        this.#changed();
        return;
      }
      if (gap) {
        this.rows = [];
        this.#from = lines[0]?.seq ?? next;
        this.atBegin = false;
      }
      append(this.rows, lines);
      this.#until = next;
      if (this.reading && this.#isTooMuch()) {
        // What is read stays; the rest is fetched when it is wanted.
        this.#letGoOfEnd();
      } else {
        this.#trimFront();
      }
      this.#changed();
    });
  }

  #letGoOfEnd(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.atEnd = false;
  }

  #isTooMuch(): boolean {
    return this.rows.length > MOST_ROWS || textOf(this.rows) > MOST_TEXT;
  }

  /** Lets go of the oldest rows, in steps so that it is cheap. */
  #trimFront(): void {
    if (!this.#isTooMuch()) return;
    let drop = Math.max(0, this.rows.length - MOST_ROWS + PAGE);
    let text = textOf(this.rows.slice(drop));
    while (text > MOST_TEXT && drop < this.rows.length - 1) text -= this.rows[drop++]?.text.length ?? 0;
    this.rows = this.rows.slice(drop);
    this.#from = this.rows[0]?.seq ?? this.#from;
    this.atBegin = false;
  }

  #trimBack(): void {
    if (!this.#isTooMuch()) return;
    let keep = Math.min(this.rows.length, MOST_ROWS - PAGE);
    let text = textOf(this.rows.slice(0, keep));
    while (text > MOST_TEXT && keep > 1) text -= this.rows[--keep]?.text.length ?? 0;
    this.#until = this.rows[keep]?.seq ?? this.#until;
    this.rows = this.rows.slice(0, keep);
    this.#letGoOfEnd();
  }

  #changed(): void {
    this.version.value++;
  }
}

interface Opened {
  lines: readonly Line[];
  from: number | undefined;
  begin: number;
  until: number;
  atEnd: boolean;
}

function textOf(rows: readonly Line[]): number {
  return rows.reduce((sum, row) => sum + row.text.length, 0);
}

/** Where a line is among rows, or the one that it would come behind; -1 before the first. */
export function indexOf(rows: readonly Line[], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
