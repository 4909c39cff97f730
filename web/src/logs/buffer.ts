/**
 * The log lines that the page holds: the newest ones of the session, without gaps.
 *
 * Views (see view.ts) listen and filter only what came; nobody goes through all lines when one is added.
 */

import type { Line } from "../generated/protocol";

/** More than this are dropped from the front; the session keeps them all. */
export const MOST_LINES = 200_000;
/** Dropping in big steps keeps it cheap. */
const DROP_STEP = 20_000;

export interface Listener {
  appended(lines: readonly Line[]): void;
  prepended(lines: readonly Line[]): void;
  /** Lines before this number are gone. */
  dropped(first: number): void;
  cleared(): void;
}

export class LogBuffer {
  #lines: Line[] = [];
  #listeners = new Set<Listener>();
  readonly #most: number;

  constructor(most: number = MOST_LINES) {
    this.#most = most;
  }

  get lines(): readonly Line[] {
    return this.#lines;
  }

  /** The number that the next line must have; undefined when empty. */
  get next(): number | undefined {
    const last = this.#lines.at(-1);
    return last === undefined ? undefined : last.seq + 1;
  }

  /** The number of the oldest line held. */
  get first(): number | undefined {
    return this.#lines[0]?.seq;
  }

  /** Adds newer lines. Those already here are skipped; a gap means to start anew. */
  append(lines: readonly Line[]): void {
    const next = this.next;
    const fresh = next === undefined ? lines : lines.filter((line) => line.seq >= next);
    const first = fresh[0];
    if (first === undefined) {
      return;
    }
    if (next !== undefined && first.seq > next) {
      this.clear();
    }
    for (const line of fresh) {
      this.#lines.push(line);
    }
    this.#listeners.forEach((listener) => listener.appended(fresh));
    if (this.#lines.length > this.#most + DROP_STEP) {
      this.#lines = this.#lines.slice(-this.#most);
      const kept = this.first ?? 0;
      this.#listeners.forEach((listener) => listener.dropped(kept));
    }
  }

  /** Adds older lines, which must end where the buffer begins. */
  prepend(lines: readonly Line[]): void {
    const last = lines.at(-1);
    if (last === undefined || this.first === undefined || last.seq + 1 !== this.first) {
      return;
    }
    this.#lines = [...lines, ...this.#lines];
    this.#listeners.forEach((listener) => listener.prepended(lines));
  }

  clear(): void {
    this.#lines = [];
    this.#listeners.forEach((listener) => listener.cleared());
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
