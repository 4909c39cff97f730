/**
 * Which expressions a browser can be trusted with. The session searches in linear time; a browser tries one way after the
 * other, and some expressions have so many that the page would hang.
 */

import { signal } from "@preact/signals";

/** What a line may take. In milliseconds. */
const MAX_MATCH_TIME = 4;
/** The first part that is tried, and how much longer the next one is. */
const FIRST_PREFIX = 12;
const PREFIX_GROWTH = 1.5;
/** Each makes the ways that there are more by a factor: with these, the first part is still short. */
const MAX_QUANTIFIERS = 10;
/** More marks in one line are no help to anybody. */
export const MAX_MATCHES = 2_000;

/** Expressions that took too long. */
const slowRegexes = signal<ReadonlySet<string>>(new Set());

const regexKey = (marker: RegExp) => `${marker.flags} ${marker.source}`;

/** There is only one way to match what repeats nothing. */
const hasQuantifier = /(?:^|[^\\])(?:\\\\)*[*+{]/;

export function wasSlow(marker: RegExp): boolean {
  return slowRegexes.value.has(regexKey(marker));
}

interface Group {
  /** What is in it may match in several ways. */
  ambiguous: boolean;
  /** The letters that its alternatives begin with; undefined: something else than a letter. */
  firstLetters: (string | undefined)[];
  /** An alternative has just begun. */
  atAlternativeStart: boolean;
}

const tokenPattern =
  /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|P?<\w+>))?|[)|]|[*+?]\??|\{\d+(?:,\d*)?\}\??|[^]/g;

/**
 * True if the time may double with every letter: something is repeated that can itself match in several ways. Some harmless
 * expressions are among those, too.
 */
export function mayBacktrackExponentially(expression: string): boolean {
  const outermost: Group = { ambiguous: false, firstLetters: [], atAlternativeStart: true };
  const open: Group[] = [outermost];
  let lastClosed: Group | undefined;
  let quantifiers = 0;
  for (const [part] of expression.matchAll(tokenPattern)) {
    const group = open.at(-1) ?? outermost;
    if (part.startsWith("(") && part !== "\\(") {
      if (group.atAlternativeStart) addFirstLetter(group, undefined);
      open.push({ ambiguous: false, firstLetters: [], atAlternativeStart: true });
      lastClosed = undefined;
    } else if (part === ")" && open.length > 1) {
      lastClosed = open.pop();
      const around = open.at(-1) ?? outermost;
      if (lastClosed && (lastClosed.ambiguous || shareFirstLetter(lastClosed.firstLetters))) {
        lastClosed.ambiguous = true;
        around.ambiguous = true;
      }
    } else if (part === "|") {
      group.atAlternativeStart = true;
      lastClosed = undefined;
    } else if (/^(?:[*+?]|\{\d)/.test(part)) {
      if (lastClosed?.ambiguous && canRepeat(part)) return true;
      if (!/^\{\d+\}/.test(part)) {
        group.ambiguous = true;
        if (++quantifiers > MAX_QUANTIFIERS) return true;
      }
      lastClosed = undefined;
    } else {
      if (group.atAlternativeStart) addFirstLetter(group, /^\w$/.test(part) ? part.toLowerCase() : undefined);
      lastClosed = undefined;
    }
  }
  return false;
}

function addFirstLetter(group: Group, letter: string | undefined): void {
  group.firstLetters.push(letter);
  group.atAlternativeStart = false;
}

/** Alternatives that begin with different letters are told apart at once. */
function shareFirstLetter(begins: readonly (string | undefined)[]): boolean {
  return begins.length > 1 && (begins.includes(undefined) || new Set(begins).size < begins.length);
}

function canRepeat(quantifier: string): boolean {
  return !/^(?:\?|\{[01]\}|\{0?,1\})/.test(quantifier);
}

/** Where an expression matches. Of one that takes too long nothing, from then on: then `isSlow` tells. */
export function safeMatches(text: string, marker: RegExp): RegExpExecArray[] {
  if (slowRegexes.peek().has(regexKey(marker))) return [];
  if (!hasQuantifier.test(marker.source)) return findMatches(text, marker);
  // A part at a time, each longer than the last: one that takes too long for all of the line does so for a part.
  for (let length = FIRST_PREFIX; length < text.length; length *= PREFIX_GROWTH) {
    if (findMatchesInTime(text.slice(0, length), marker) === undefined) return [];
  }
  return findMatchesInTime(text, marker) ?? [];
}

function findMatches(text: string, marker: RegExp): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  for (const match of text.matchAll(marker)) {
    if (matches.push(match) >= MAX_MATCHES) break;
  }
  return matches;
}

/** Undefined: it took too long. The machine may have been busy with something else, so that a second time counts. */
function findMatchesInTime(text: string, marker: RegExp): RegExpExecArray[] | undefined {
  for (let attempt = 0; attempt < 2; attempt++) {
    const startedAt = performance.now();
    const all = findMatches(text, marker);
    if (performance.now() - startedAt < MAX_MATCH_TIME) return all;
  }
  markAsSlow(marker);
  return undefined;
}

/** Not in the midst of drawing: others are drawn anew with it. */
function markAsSlow(marker: RegExp): void {
  queueMicrotask(() => (slowRegexes.value = new Set([...slowRegexes.peek(), regexKey(marker)])));
}
