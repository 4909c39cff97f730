/** Cutting styled pieces where a searched text begins and ends. */

import type { Piece } from "./ansi";

export interface MarkedPiece extends Piece {
  marked: boolean;
}

export function highlight(pieces: readonly Piece[], searched: string): MarkedPiece[] {
  const needle = searched.toLowerCase();
  if (needle === "") {
    return pieces.map((piece) => ({ ...piece, marked: false }));
  }
  // Matches may run across pieces. Lower case may have another length (İ): then nothing is marked rather than the
  // wrong thing.
  const whole = pieces.map((piece) => piece.text).join("");
  const haystack = whole.toLowerCase();
  const cuts: number[] = [];
  if (haystack.length === whole.length) {
    for (let at = haystack.indexOf(needle); at >= 0; at = haystack.indexOf(needle, at + needle.length)) {
      cuts.push(at, at + needle.length);
    }
  }
  const marked: MarkedPiece[] = [];
  let position = 0;
  let cut = 0;
  for (const piece of pieces) {
    const end = position + piece.text.length;
    let from = position;
    while (from < end) {
      while (cut < cuts.length && (cuts[cut] ?? 0) <= from) cut++;
      const until = Math.min(end, cuts[cut] ?? end);
      const text = piece.text.slice(from - position, until - position);
      // An odd number of cuts lies behind: inside a match.
      marked.push({ text, style: piece.style, marked: cut % 2 === 1 });
      from = until;
    }
    position = end;
  }
  return marked;
}
