/**
 * Which expressions a browser can be trusted with. The session searches in linear time; a browser tries one way after the
 * other, and some expressions have so many that the page would hang.
 */

import { signal } from "@preact/signals";

/** What a line may take. In milliseconds. */
const LONGEST = 4;
/** The first part that is tried, and how much longer the next one is. */
const FIRST = 12;
const GROWTH = 1.5;
/** Each makes the ways that there are more by a factor: with these, the first part is still short. */
const MOST_QUANTIFIERS = 10;
/** More marks in one line are no help to anybody. */
export const MOST_MARKS = 2_000;

/** Expressions that took too long. */
const slow = signal<ReadonlySet<string>>(new Set());

const keyOf = (marker: RegExp) => `${marker.flags} ${marker.source}`;

/** There is only one way to match what repeats nothing. */
const repeating = /(?:^|[^\\])(?:\\\\)*[*+{]/;

export function isSlow(marker: RegExp): boolean {
  return slow.value.has(keyOf(marker));
}

interface Group {
  /** What is in it may match in several ways. */
  ambiguous: boolean;
  /** The letters that its alternatives begin with; undefined: something else than a letter. */
  begins: (string | undefined)[];
  /** An alternative has just begun. */
  fresh: boolean;
}

const token =
  /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|P?<\w+>))?|[)|]|[*+?]\??|\{\d+(?:,\d*)?\}\??|[^]/g;

/**
 * True if the time may double with every letter: something is repeated that can itself match in several ways. Some harmless
 * expressions are among those, too.
 */
export function isExplosive(expression: string): boolean {
  const outermost: Group = { ambiguous: false, begins: [], fresh: true };
  const open: Group[] = [outermost];
  let closed: Group | undefined;
  let quantifiers = 0;
  for (const [part] of expression.matchAll(token)) {
    const group = open.at(-1) ?? outermost;
    if (part.startsWith("(") && part !== "\\(") {
      if (group.fresh) begin(group, undefined);
      open.push({ ambiguous: false, begins: [], fresh: true });
      closed = undefined;
    } else if (part === ")" && open.length > 1) {
      closed = open.pop();
      const around = open.at(-1) ?? outermost;
      if (closed && (closed.ambiguous || isAmbiguous(closed.begins))) {
        closed.ambiguous = true;
        around.ambiguous = true;
      }
    } else if (part === "|") {
      group.fresh = true;
      closed = undefined;
    } else if (/^(?:[*+?]|\{\d)/.test(part)) {
      if (closed?.ambiguous && repeats(part)) return true;
      if (!/^\{\d+\}/.test(part)) {
        group.ambiguous = true;
        if (++quantifiers > MOST_QUANTIFIERS) return true;
      }
      closed = undefined;
    } else {
      if (group.fresh) begin(group, /^\w$/.test(part) ? part.toLowerCase() : undefined);
      closed = undefined;
    }
  }
  return false;
}

function begin(group: Group, letter: string | undefined): void {
  group.begins.push(letter);
  group.fresh = false;
}

/** Alternatives that begin with different letters are told apart at once. */
function isAmbiguous(begins: readonly (string | undefined)[]): boolean {
  return begins.length > 1 && (begins.includes(undefined) || new Set(begins).size < begins.length);
}

function repeats(quantifier: string): boolean {
  return !/^(?:\?|\{[01]\}|\{0?,1\})/.test(quantifier);
}

/** Where an expression matches. Of one that takes too long nothing, from then on: then `isSlow` tells. */
export function matchesIn(text: string, marker: RegExp): RegExpExecArray[] {
  if (slow.peek().has(keyOf(marker))) return [];
  if (!repeating.test(marker.source)) return found(text, marker);
  // A part at a time, each longer than the last: one that takes too long for all of the line does so for a part.
  for (let length = FIRST; length < text.length; length *= GROWTH) {
    if (timed(text.slice(0, length), marker) === undefined) return [];
  }
  return timed(text, marker) ?? [];
}

function found(text: string, marker: RegExp): RegExpExecArray[] {
  const all: RegExpExecArray[] = [];
  for (const match of text.matchAll(marker)) {
    if (all.push(match) >= MOST_MARKS) break;
  }
  return all;
}

/** Undefined: it took too long. The machine may have been busy with something else, so that a second time counts. */
function timed(text: string, marker: RegExp): RegExpExecArray[] | undefined {
  for (let turn = 0; turn < 2; turn++) {
    const began = performance.now();
    const all = found(text, marker);
    if (performance.now() - began < LONGEST) return all;
  }
  giveUp(marker);
  return undefined;
}

/** Not in the midst of drawing: others are drawn anew with it. */
function giveUp(marker: RegExp): void {
  queueMicrotask(() => (slow.value = new Set([...slow.peek(), keyOf(marker)])));
}
