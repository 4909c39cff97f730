/** Chooses which part of a very long line is rendered: a megabyte in one row would freeze the page. */

import { stripAnsi } from "./ansi";

/** How many characters are shown at first. */
export const INITIAL_LENGTH = 8_000;
/** How many more are shown with each click on "Show more". */
export const EXPAND_STEP = 100_000;
/** How many characters are shown before a match. */
const CONTEXT_LENGTH = 40;

export interface Excerpt {
  text: string;
  /** The numbers of characters that are left out before and after the text. */
  before: number;
  after: number;
}

/**
 * Returns the excerpt of a text. A match is shown even if it is far from the start; `searchText` is in lower case.
 */
export function excerpt(text: string, searchText: string, expandCount: number): Excerpt {
  if (text.length <= INITIAL_LENGTH) return { text, before: 0, after: 0 };
  if (expandCount > 0) return sliceExcerpt(text, 0, INITIAL_LENGTH + expandCount * EXPAND_STEP);
  const plainText = searchText === "" ? "" : stripAnsi(text);
  const index = searchText === "" ? -1 : plainText.toLowerCase().indexOf(searchText);
  if (index + searchText.length <= INITIAL_LENGTH) return sliceExcerpt(text, 0, INITIAL_LENGTH);
  return sliceExcerpt(plainText, index - CONTEXT_LENGTH, index - CONTEXT_LENGTH + INITIAL_LENGTH);
}

function sliceExcerpt(text: string, from: number, until: number): Excerpt {
  return { text: text.slice(from, until), before: from, after: Math.max(0, text.length - until) };
}
