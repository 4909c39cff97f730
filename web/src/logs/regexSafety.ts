/**
 * Protects the page from regular expressions that take too long. The session matches in linear time, but the
 * browser's engine backtracks: with some expressions it would freeze the page.
 */

import { signal } from "@preact/signals";

/** The time that matching one line may take, in milliseconds. */
const MAX_MATCH_TIME = 4;
/** The first prefix of a line that is tried, and the factor by which the next one is longer. */
const FIRST_PREFIX = 12;
const PREFIX_GROWTH = 1.5;
/** Every quantifier multiplies the ways to match: up to this number, the first prefix is still fast. */
const MAX_QUANTIFIERS = 10;
/** More matches in one line are of no use. */
export const MAX_MATCHES = 2_000;

/** Expressions that took too long. */
const slowRegexes = signal<ReadonlySet<string>>(new Set());

const regexKey = (regex: RegExp) => `${regex.flags} ${regex.source}`;

/** Matches an expression with a quantifier; without one there is nothing to backtrack. */
const hasQuantifier = /(?:^|[^\\])(?:\\\\)*[*+{]/;

export function wasSlow(regex: RegExp): boolean {
  return slowRegexes.value.has(regexKey(regex));
}

interface Group {
  /** Its content may match in several ways. */
  isAmbiguous: boolean;
  /** The first letters of its alternatives; undefined for one that does not start with a letter. */
  firstLetters: (string | undefined)[];
  /** The next token starts an alternative. */
  atAlternativeStart: boolean;
}

const tokenPattern =
  /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|P?<\w+>))?|[)|]|[*+?]\??|\{\d+(?:,\d*)?\}\??|[^]/g;

/**
 * Returns true if matching may take exponential time, because something is repeated that can itself match in several
 * ways. True for some harmless expressions, too.
 */
export function mayBacktrackExponentially(expression: string): boolean {
  const outermost: Group = { isAmbiguous: false, firstLetters: [], atAlternativeStart: true };
  const openGroups: Group[] = [outermost];
  let lastClosed: Group | undefined;
  let quantifiers = 0;
  for (const [token] of expression.matchAll(tokenPattern)) {
    const group = openGroups.at(-1) ?? outermost;
    if (token.startsWith("(") && token !== "\\(") {
      if (group.atAlternativeStart) addFirstLetter(group, undefined);
      openGroups.push({ isAmbiguous: false, firstLetters: [], atAlternativeStart: true });
      lastClosed = undefined;
    } else if (token === ")" && openGroups.length > 1) {
      lastClosed = openGroups.pop();
      const parent = openGroups.at(-1) ?? outermost;
      if (lastClosed && (lastClosed.isAmbiguous || shareFirstLetter(lastClosed.firstLetters))) {
        lastClosed.isAmbiguous = true;
        parent.isAmbiguous = true;
      }
    } else if (token === "|") {
      group.atAlternativeStart = true;
      lastClosed = undefined;
    } else if (/^(?:[*+?]|\{\d)/.test(token)) {
      if (lastClosed?.isAmbiguous && canRepeat(token)) return true;
      if (!/^\{\d+\}/.test(token)) {
        group.isAmbiguous = true;
        if (++quantifiers > MAX_QUANTIFIERS) return true;
      }
      lastClosed = undefined;
    } else {
      if (group.atAlternativeStart)
        addFirstLetter(group, /^\w$/.test(token) ? token.toLowerCase() : undefined);
      lastClosed = undefined;
    }
  }
  return false;
}

function addFirstLetter(group: Group, letter: string | undefined): void {
  group.firstLetters.push(letter);
  group.atAlternativeStart = false;
}

/** Alternatives with different first letters cannot match the same text. */
function shareFirstLetter(firstLetters: readonly (string | undefined)[]): boolean {
  return (
    firstLetters.length > 1 &&
    (firstLetters.includes(undefined) || new Set(firstLetters).size < firstLetters.length)
  );
}

function canRepeat(quantifier: string): boolean {
  return !/^(?:\?|\{[01]\}|\{0?,1\})/.test(quantifier);
}

/** Returns the matches in a text; none from then on, if the expression takes too long (see `wasSlow`). */
export function safeMatches(text: string, regex: RegExp): RegExpExecArray[] {
  if (slowRegexes.peek().has(regexKey(regex))) return [];
  if (!hasQuantifier.test(regex.source)) return findMatches(text, regex);
  // Tries growing prefixes: an expression that is too slow for the line is too slow for one of them.
  for (let length = FIRST_PREFIX; length < text.length; length *= PREFIX_GROWTH) {
    if (findMatchesInTime(text.slice(0, length), regex) === undefined) return [];
  }
  return findMatchesInTime(text, regex) ?? [];
}

function findMatches(text: string, regex: RegExp): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  for (const match of text.matchAll(regex)) {
    if (matches.push(match) >= MAX_MATCHES) break;
  }
  return matches;
}

/** Returns undefined if it took too long, twice: the first time, the machine may have been busy. */
function findMatchesInTime(text: string, regex: RegExp): RegExpExecArray[] | undefined {
  for (let attempt = 0; attempt < 2; attempt++) {
    const startedAt = performance.now();
    const matches = findMatches(text, regex);
    if (performance.now() - startedAt < MAX_MATCH_TIME) return matches;
  }
  markAsSlow(regex);
  return undefined;
}

/** Not during a render: the change rerenders other rows. */
function markAsSlow(regex: RegExp): void {
  queueMicrotask(() => (slowRegexes.value = new Set([...slowRegexes.peek(), regexKey(regex)])));
}
