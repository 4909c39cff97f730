/** What to mark in lines that were found. The session searches; the browser has to find the same places again. */

import { expressionOf } from "./logFilter";
import { isExplosive, isSlow } from "./regexSafety";

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

/** Undefined if there is nothing to mark, or nothing that this browser understands and does in time. */
export function markerOf(term: string): RegExp | undefined {
  if (term === "") return undefined;
  const expression = expressionOf(term);
  if (expression === undefined) return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  const marker = compiled(expression);
  return marker && !isExplosive(marker.source) && !isSlow(marker) ? marker : undefined;
}

/** Why matches that the session finds cannot be shown; empty if they can. */
export function unmarkedWords(term: string): string {
  const expression = expressionOf(term);
  if (expression === undefined || markerOf(term) !== undefined) return "";
  return compiled(expression)
    ? "Matches are found, but not marked: this expression could keep the browser busy for too long."
    : "Matches are found, but this browser does not understand the expression well enough to mark them.";
}

function compiled(expression: string): RegExp | undefined {
  const { rest, flags } = flagsOf(expression);
  const translated = translate(rest);
  // The second one is more forgiving of needless backslashes.
  return understood(translated, `g${flags}u`) ?? understood(translated, `g${flags}`);
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
