/** Which part of a very long line is drawn: a megabyte in one row would stop the page. The log has all of it. */

import { stripAnsi } from "./ansi";

/** At first. */
export const INITIAL_LENGTH = 8_000;
/** And so much more each time somebody wants it. */
export const EXPAND_STEP = 100_000;
/** Before what is sought. */
const CONTEXT_LENGTH = 40;

export interface Excerpt {
  text: string;
  /** So many characters are left out, before it and behind it. */
  before: number;
  after: number;
}

/** `sought` is a text in small letters; what it is found in is shown even if it is far from the beginning. */
export function excerpt(text: string, searchText: string, expandCount: number): Excerpt {
  if (text.length <= INITIAL_LENGTH) return { text, before: 0, after: 0 };
  if (expandCount > 0) return sliceExcerpt(text, 0, INITIAL_LENGTH + expandCount * EXPAND_STEP);
  const plainText = searchText === "" ? "" : stripAnsi(text);
  const at = searchText === "" ? -1 : plainText.toLowerCase().indexOf(searchText);
  if (at + searchText.length <= INITIAL_LENGTH) return sliceExcerpt(text, 0, INITIAL_LENGTH);
  return sliceExcerpt(plainText, at - CONTEXT_LENGTH, at - CONTEXT_LENGTH + INITIAL_LENGTH);
}

function sliceExcerpt(text: string, from: number, until: number): Excerpt {
  return { text: text.slice(from, until), before: from, after: Math.max(0, text.length - until) };
}
