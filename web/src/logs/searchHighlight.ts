/** What to mark in lines that were found. The session searches; the browser has to find the same places again. */

import { regexSource } from "./logFilter";
import { mayBacktrackExponentially, wasSlow } from "./regexSafety";

/** What Rust's expressions call classes of letters, inside of brackets. */
const posixClasses: Record<string, string> = {
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
export function highlightRegex(term: string): RegExp | undefined {
  if (term === "") return undefined;
  const expression = regexSource(term);
  if (expression === undefined) return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  const regex = compile(expression);
  return regex && !mayBacktrackExponentially(regex.source) && !wasSlow(regex) ? regex : undefined;
}

/** Why matches that the session finds cannot be shown; empty if they can. */
export function missingHighlightReason(term: string): string {
  const expression = regexSource(term);
  if (expression === undefined || highlightRegex(term) !== undefined) return "";
  return compile(expression)
    ? "Matches are found, but not marked: this expression could keep the browser busy for too long."
    : "Matches are found, but this browser does not understand the expression well enough to mark them.";
}

function compile(expression: string): RegExp | undefined {
  const { rest, flags } = splitFlags(expression);
  const translated = toJavaScript(rest);
  // The second one is more forgiving of needless backslashes.
  return tryRegex(translated, `g${flags}u`) ?? tryRegex(translated, `g${flags}`);
}

/** The text that is searched for, in small letters; of an expression nothing. */
export function plainSearchText(term: string): string {
  return regexSource(term) === undefined ? term.toLowerCase() : "";
}

/** Of a refused expression what is wrong with it: the rest is about flags that the reader has not written. */
export function readableFailure(failure: string): string {
  const parseError = /regex parse error[^]*\berror: ([^\n]+)/.exec(failure)?.[1];
  return parseError === undefined ? failure : `This is not a regular expression: ${parseError}`;
}

function tryRegex(expression: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(expression, flags);
  } catch {
    return undefined;
  }
}

/** `(?-i)` at the beginning tells capitals and small letters apart. */
function splitFlags(expression: string): { rest: string; flags: string } {
  const match = /^\(\?([imsu]*)(?:-([imsu]+))?\)/.exec(expression);
  if (!match) return { rest: expression, flags: "i" };
  const [whole, on = "", off = ""] = match;
  const flags =
    (off.includes("i") ? "" : "i") + (on.includes("s") ? "s" : "") + (on.includes("m") ? "m" : "");
  return { rest: expression.slice(whole.length), flags };
}

function toJavaScript(expression: string): string {
  return expression
    .replace(/\[:(\w+):\]/g, (whole, name: string) => posixClasses[name] ?? whole)
    .replace(/(?<!\\)((?:\\\\)*)\\A/g, "$1^")
    .replace(/(?<!\\)((?:\\\\)*)\\z/g, "$1$");
}
