/** Cutting styled pieces of text where marks and links begin and end. */

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

/** A longer text is not looked through for links: nobody reads them there. */
const MAX_LINK_SEARCH = 8_000;

/** Addresses in a text, without the punctuation that ends a sentence around them. */
export function findLinks(text: string): Range[] {
  if (text.length > MAX_LINK_SEARCH || !text.includes("://")) return [];
  const links: Range[] = [];
  for (const match of text.matchAll(urlPattern)) {
    let address = match[0].replace(/[.,;:!?]+$/, "");
    // A bracket that was opened before the address is not part of it.
    while (/[)\]]$/.test(address) && !isBalanced(address)) address = address.slice(0, -1);
    if (URL.canParse(address)) links.push({ from: match.index, to: match.index + address.length });
  }
  return links;
}

function isBalanced(text: string): boolean {
  const count = (letter: string) => text.split(letter).length;
  return count("(") === count(")") && count("[") === count("]");
}

export function findMatches(text: string, marker: RegExp | undefined): Range[] {
  if (!marker) return [];
  // An expression may match nothing, everywhere.
  return safeMatches(text, marker)
    .filter(([match]) => match !== "")
    .map(({ 0: match, index }) => ({ from: index, to: index + match.length }));
}

export function decorate(pieces: readonly StyledText[], marker: RegExp | undefined): DecoratedText[] {
  const text = pieces.map((piece) => piece.text).join("");
  const matches = findMatches(text, marker);
  const links = findLinks(text);
  if (matches.length === 0 && links.length === 0) {
    return pieces.map((piece) => ({ ...piece, isMatch: false, href: undefined }));
  }
  const cuts = [...new Set([...matches, ...links].flatMap(({ from, to }) => [from, to]))];
  cuts.sort((one, other) => one - other);
  const inside = (ranges: readonly Range[], at: number) =>
    ranges.find(({ from, to }) => from <= at && at < to);
  const decorated: DecoratedText[] = [];
  let position = 0;
  for (const piece of pieces) {
    const end = position + piece.text.length;
    let from = position;
    while (from < end) {
      const next = cuts.find((cut) => cut > from) ?? end;
      const until = Math.min(end, next);
      const target = inside(links, from);
      decorated.push({
        text: piece.text.slice(from - position, until - position),
        style: piece.style,
        isMatch: inside(matches, from) !== undefined,
        href: target && text.slice(target.from, target.to),
      });
      from = until;
    }
    position = end;
  }
  return decorated;
}
