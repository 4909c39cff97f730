/** Counts how many lines of the session match the search, and which of them is the current one. */

import { signal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import type { LineCount } from "../generated/protocol";

/** Counts matching lines; implemented by `LiveLog`. */
export interface LineCounter {
  count(query: string, from: number, until: number | undefined, abort: AbortSignal): Promise<LineCount>;
}

/** How often new lines are counted, in milliseconds. */
const RECOUNT_INTERVAL = 1_000;

export class MatchCounter {
  /** Undefined until the first count. */
  readonly total = signal<number | undefined>(undefined);
  /** Why the search failed. */
  readonly failure = signal<string | undefined>(undefined);
  /** The number of the current match, starting with 1. */
  readonly position = signal<number | undefined>(undefined);

  #abort = new AbortController();
  #positionAbort = new AbortController();
  #query = "";
  #from = 0;
  #countedTo = 0;
  #counting = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly counter: LineCounter) {}

  /** Starts to count the lines that match a query, from a line number on. */
  start(query: string, from: number): void {
    this.stop();
    this.#abort = new AbortController();
    [this.#query, this.#from, this.#countedTo] = [query, from, from];
    void this.#count();
  }

  stop(): void {
    this.#abort.abort();
    this.#positionAbort.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#counting = false;
    this.total.value = undefined;
    this.position.value = undefined;
    this.failure.value = undefined;
  }

  /** Called with the number of the next line when the log has grown. */
  logGrew(end: number): void {
    if (this.total.peek() === undefined || end <= this.#countedTo || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#count();
    }, RECOUNT_INTERVAL);
  }

  /** Sets the current line; undefined if there is none. */
  async setCurrentLine(seq: number | undefined): Promise<void> {
    this.#positionAbort.abort();
    this.#positionAbort = new AbortController();
    if (seq === undefined) {
      this.position.value = undefined;
      return;
    }
    const abort = AbortSignal.any([this.#positionAbort.signal, this.#abort.signal]);
    try {
      const { count } = await this.#countAll(this.#from, seq + 1, abort);
      if (!abort.aborted) this.position.value = count;
    } catch {
      // The position is unknown without a connection; the log shows the error.
      if (!abort.aborted) this.position.value = undefined;
    }
  }

  async #count(): Promise<void> {
    if (this.#counting) return;
    this.#counting = true;
    const abort = this.#abort.signal;
    try {
      const { count, next } = await this.#countAll(this.#countedTo, undefined, abort);
      if (abort.aborted) return;
      this.total.value = (this.total.peek() ?? 0) + count;
      this.#countedTo = next;
      this.failure.value = undefined;
    } catch (error) {
      if (abort.aborted) return;
      this.total.value = undefined;
      this.failure.value = errorMessage(error);
    }
    if (!abort.aborted) this.#counting = false;
  }

  async #countAll(
    from: number,
    until: number | undefined,
    abort: AbortSignal,
  ): Promise<{ count: number; next: number }> {
    let sum = 0;
    let next = from;
    for (;;) {
      const part = await this.counter.count(this.#query, next, until, abort);
      sum += part.count;
      next = Math.max(next, part.next);
      if (part.done) return { count: sum, next };
    }
  }
}

/** Returns for example `3 of 12` or `12 matches`. */
export function matchSummary(position: number | undefined, total: number | undefined): string {
  if (total === undefined) return "";
  // The current match may be newer than the last count.
  const matchTotal = Math.max(total, position ?? 0);
  if (position !== undefined && position > 0)
    return `${position.toLocaleString()} of ${matchTotal.toLocaleString()}`;
  return matchTotal === 1 ? "1 match" : `${matchTotal.toLocaleString()} matches`;
}
