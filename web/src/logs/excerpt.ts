/** Which part of a very long line is drawn: a megabyte in one row would stop the page. The log has all of it. */

import { strip } from "./ansi";

/** At first. */
export const SHOWN = 8_000;
/** And so much more each time somebody wants it. */
export const MORE = 100_000;
/** Before what is sought. */
const CONTEXT = 40;

export interface Excerpt {
  text: string;
  /** So many characters are left out, before it and behind it. */
  before: number;
  after: number;
}

/** `sought` is a text in small letters; what it is found in is shown even if it is far from the beginning. */
export function excerptOf(text: string, sought: string, unfolded: number): Excerpt {
  if (text.length <= SHOWN) return { text, before: 0, after: 0 };
  if (unfolded > 0) return cut(text, 0, SHOWN + unfolded * MORE);
  const bare = sought === "" ? "" : strip(text);
  const at = sought === "" ? -1 : bare.toLowerCase().indexOf(sought);
  if (at + sought.length <= SHOWN) return cut(text, 0, SHOWN);
  return cut(bare, at - CONTEXT, at - CONTEXT + SHOWN);
}

function cut(text: string, from: number, until: number): Excerpt {
  return { text: text.slice(from, until), before: from, after: Math.max(0, text.length - until) };
}
