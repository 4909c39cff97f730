/** How many lines of the whole session match what is searched for, and which of them one is at. */

import { signal } from "@preact/signals";
import type { LineCount } from "../generated/protocol";

/** Who counts. */
export interface Counter {
  count(query: string, from: number, until: number | undefined, abort: AbortSignal): Promise<LineCount>;
}

/** A growing log is counted on this often. */
const PACE = 1_000;

export class Matches {
  /** Undefined: not counted yet. */
  readonly total = signal<number | undefined>(undefined);
  /** Why it cannot be searched for. */
  readonly failure = signal<string | undefined>(undefined);
  /** The number of the match that one is at, from 1. */
  readonly place = signal<number | undefined>(undefined);

  #abort = new AbortController();
  #placing = new AbortController();
  #query = "";
  #floor = 0;
  #next = 0;
  #counting = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly counter: Counter) {}

  /** Counts the lines of a question from a line on. */
  start(query: string, floor: number): void {
    this.stop();
    this.#abort = new AbortController();
    [this.#query, this.#floor, this.#next] = [query, floor, floor];
    void this.#count();
  }

  stop(): void {
    this.#abort.abort();
    this.#placing.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#counting = false;
    this.total.value = undefined;
    this.place.value = undefined;
    this.failure.value = undefined;
  }

  /** The log has this many lines now. */
  grown(end: number): void {
    if (this.total.peek() === undefined || end <= this.#next || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#count();
    }, PACE);
  }

  /** One is at this line; undefined: at none. */
  async at(seq: number | undefined): Promise<void> {
    this.#placing.abort();
    this.#placing = new AbortController();
    if (seq === undefined) {
      this.place.value = undefined;
      return;
    }
    const abort = AbortSignal.any([this.#placing.signal, this.#abort.signal]);
    try {
      const { count } = await this.#all(this.#floor, seq + 1, abort);
      if (!abort.aborted) this.place.value = count;
    } catch {
      // Without a connection there is no number; the log says why.
      if (!abort.aborted) this.place.value = undefined;
    }
  }

  async #count(): Promise<void> {
    if (this.#counting) return;
    this.#counting = true;
    const abort = this.#abort.signal;
    try {
      const { count, next } = await this.#all(this.#next, undefined, abort);
      if (abort.aborted) return;
      this.total.value = (this.total.peek() ?? 0) + count;
      this.#next = next;
      this.failure.value = undefined;
    } catch (error) {
      if (abort.aborted) return;
      this.total.value = undefined;
      this.failure.value = error instanceof Error ? error.message : String(error);
    }
    if (!abort.aborted) this.#counting = false;
  }

  async #all(
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

/** `3 of 12`, `12 matches`. */
export function matchWords(place: number | undefined, total: number | undefined): string {
  if (total === undefined) return "";
  // What came since the last count may be the one.
  const all = Math.max(total, place ?? 0);
  if (place !== undefined && place > 0) return `${place.toLocaleString()} of ${all.toLocaleString()}`;
  return all === 1 ? "1 match" : `${all.toLocaleString()} matches`;
}
