/** Cutting styled pieces of text where marks and links begin and end. */

import type { Piece } from "./ansi";
import { matchesIn } from "./regexSafety";

export interface Decorated extends Piece {
  marked: boolean;
  href: string | undefined;
}

interface Range {
  from: number;
  until: number;
}

const link = /\bhttps?:\/\/[^\s<>"'`\\^{}|]+/g;

/** A longer text is not looked through for links: nobody reads them there. */
const MOST_SEARCHED = 8_000;

/** Addresses in a text, without the punctuation that ends a sentence around them. */
export function linksIn(text: string): Range[] {
  if (text.length > MOST_SEARCHED || !text.includes("://")) return [];
  const found: Range[] = [];
  for (const match of text.matchAll(link)) {
    let address = match[0].replace(/[.,;:!?]+$/, "");
    // A bracket that was opened before the address is not part of it.
    while (/[)\]]$/.test(address) && !isBalanced(address)) address = address.slice(0, -1);
    if (URL.canParse(address)) found.push({ from: match.index, until: match.index + address.length });
  }
  return found;
}

function isBalanced(text: string): boolean {
  const count = (letter: string) => text.split(letter).length;
  return count("(") === count(")") && count("[") === count("]");
}

export function marksIn(text: string, marker: RegExp | undefined): Range[] {
  if (!marker) return [];
  // An expression may match nothing, everywhere.
  return matchesIn(text, marker)
    .filter(([match]) => match !== "")
    .map(({ 0: match, index }) => ({ from: index, until: index + match.length }));
}

export function decorate(pieces: readonly Piece[], marker: RegExp | undefined): Decorated[] {
  const whole = pieces.map((piece) => piece.text).join("");
  const marks = marksIn(whole, marker);
  const links = linksIn(whole);
  if (marks.length === 0 && links.length === 0) {
    return pieces.map((piece) => ({ ...piece, marked: false, href: undefined }));
  }
  const cuts = [...new Set([...marks, ...links].flatMap(({ from, until }) => [from, until]))];
  cuts.sort((one, other) => one - other);
  const inside = (ranges: readonly Range[], at: number) =>
    ranges.find(({ from, until }) => from <= at && at < until);
  const decorated: Decorated[] = [];
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
        marked: inside(marks, from) !== undefined,
        href: target && whole.slice(target.from, target.until),
      });
      from = until;
    }
    position = end;
  }
  return decorated;
}
