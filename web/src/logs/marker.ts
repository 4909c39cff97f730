/** What to mark in lines that were found. The session searches; the browser has to find the same places again. */

import { expressionOf } from "./filter";

/** What Rust's expressions call classes of letters, inside of brackets. */
const classes: Record<string, string> = {
  alnum: "\\p{L}\\p{N}",
  alpha: "\\p{L}",
  blank: " \\t",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  lower: "\\p{Ll}",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\s",
  upper: "\\p{Lu}",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
};

/** Undefined if there is nothing to mark, or nothing that this browser understands. */
export function markerOf(term: string): RegExp | undefined {
  if (term === "") return undefined;
  const expression = expressionOf(term);
  if (expression === undefined) return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  const { rest, flags } = flagsOf(expression);
  const translated = translate(rest);
  // The second one is more forgiving of needless backslashes.
  return understood(translated, `g${flags}u`) ?? understood(translated, `g${flags}`);
}

/** An expression that the session may well understand, but whose matches cannot be shown. */
export function isUnmarked(term: string): boolean {
  return expressionOf(term) !== undefined && markerOf(term) === undefined;
}

/** The text that is searched for, in small letters; of an expression nothing. */
export function soughtIn(term: string): string {
  return expressionOf(term) === undefined ? term.toLowerCase() : "";
}

/** Of a refused expression what is wrong with it: the rest is about flags that the reader has not written. */
export function failureWords(failure: string): string {
  const wrong = /regex parse error[^]*\berror: ([^\n]+)/.exec(failure)?.[1];
  return wrong === undefined ? failure : `This is not a regular expression: ${wrong}`;
}

function understood(expression: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(expression, flags);
  } catch {
    return undefined;
  }
}

/** `(?-i)` at the beginning tells capitals and small letters apart. */
function flagsOf(expression: string): { rest: string; flags: string } {
  const said = /^\(\?([imsu]*)(?:-([imsu]+))?\)/.exec(expression);
  if (!said) return { rest: expression, flags: "i" };
  const [whole, on = "", off = ""] = said;
  const flags =
    (off.includes("i") ? "" : "i") + (on.includes("s") ? "s" : "") + (on.includes("m") ? "m" : "");
  return { rest: expression.slice(whole.length), flags };
}

function translate(expression: string): string {
  return expression
    .replace(/\[:(\w+):\]/g, (whole, name: string) => classes[name] ?? whole)
    .replace(/(?<!\\)((?:\\\\)*)\\A/g, "$1^")
    .replace(/(?<!\\)((?:\\\\)*)\\z/g, "$1$");
}
