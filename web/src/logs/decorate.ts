/** Splits styled texts where highlighted matches and links start and end. */

import type { StyledText } from "./ansi";
import { safeMatches } from "./regexSafety";

export interface DecoratedText extends StyledText {
  isMatch: boolean;
  href: string | undefined;
}

interface Range {
  from: number;
  to: number;
}

const urlPattern = /\bhttps?:\/\/[^\s<>"'`\\^{}|]+/g;

/** Links in longer texts are not worth the time to find them. */
const MAX_LINK_SEARCH = 8_000;

/** Returns the URLs in a text, without the punctuation of the sentence around them. */
export function findLinks(text: string): Range[] {
  if (text.length > MAX_LINK_SEARCH || !text.includes("://")) return [];
  const links: Range[] = [];
  for (const match of text.matchAll(urlPattern)) {
    let url = match[0].replace(/[.,;:!?]+$/, "");
    // A closing bracket belongs to the sentence if it was opened before the URL.
    while (/[)\]]$/.test(url) && !isBalanced(url)) url = url.slice(0, -1);
    if (URL.canParse(url)) links.push({ from: match.index, to: match.index + url.length });
  }
  return links;
}

function isBalanced(text: string): boolean {
  const count = (letter: string) => text.split(letter).length;
  return count("(") === count(")") && count("[") === count("]");
}

export function findMatches(text: string, highlight: RegExp | undefined): Range[] {
  if (!highlight) return [];
  // A regular expression may match the empty string.
  return safeMatches(text, highlight)
    .filter(([match]) => match !== "")
    .map(({ 0: match, index }) => ({ from: index, to: index + match.length }));
}

export function decorate(pieces: readonly StyledText[], highlight: RegExp | undefined): DecoratedText[] {
  const text = pieces.map((piece) => piece.text).join("");
  const matches = findMatches(text, highlight);
  const links = findLinks(text);
  if (matches.length === 0 && links.length === 0) {
    return pieces.map((piece) => ({ ...piece, isMatch: false, href: undefined }));
  }
  const cuts = [...new Set([...matches, ...links].flatMap(({ from, to }) => [from, to]))];
  cuts.sort((a, b) => a - b);
  const rangeAt = (ranges: readonly Range[], at: number) =>
    ranges.find(({ from, to }) => from <= at && at < to);
  const decorated: DecoratedText[] = [];
  let position = 0;
  for (const piece of pieces) {
    const end = position + piece.text.length;
    let from = position;
    while (from < end) {
      const next = cuts.find((cut) => cut > from) ?? end;
      const until = Math.min(end, next);
      const target = rangeAt(links, from);
      decorated.push({
        text: piece.text.slice(from - position, until - position),
        style: piece.style,
        isMatch: rangeAt(matches, from) !== undefined,
        href: target && text.slice(target.from, target.to),
      });
      from = until;
    }
    position = end;
  }
  return decorated;
}
