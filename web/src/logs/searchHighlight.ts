/** Highlights search results. The session finds matching lines; the browser has to find the matches within them. */

import { regexSource } from "./logFilter";
import { mayBacktrackExponentially, wasSlow } from "./regexSafety";

/** POSIX character classes of Rust's regular expressions. */
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

/** Returns undefined if there is nothing to highlight, or if the browser cannot do it safely. */
export function highlightRegex(term: string): RegExp | undefined {
  if (term === "") return undefined;
  const expression = regexSource(term);
  if (expression === undefined) return new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  const regex = compile(expression);
  return regex && !mayBacktrackExponentially(regex.source) && !wasSlow(regex) ? regex : undefined;
}

/** Returns why matches are not highlighted; empty if they are. */
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
  // Without the `u` flag, needless backslashes are allowed.
  return tryRegex(translated, `g${flags}u`) ?? tryRegex(translated, `g${flags}`);
}

/** Returns the search text in lower case; empty for a regular expression. */
export function plainSearchText(term: string): string {
  return regexSource(term) === undefined ? term.toLowerCase() : "";
}

/** Returns the cause of a rejected regular expression, without the flags that the page has added to it. */
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

/** Splits off the flags at the start: `(?-i)` makes the expression case sensitive. */
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
