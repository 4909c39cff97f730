import { describe, expect, test } from "vitest";
import { parseAnsi } from "./ansi";
import { decorate } from "./decorate";
import { highlightRegex, missingHighlightReason } from "./searchHighlight";
import { mayBacktrackExponentially, wasSlow, safeMatches, MAX_MATCHES } from "./regexSafety";

test.each([
  "(a+)+$",
  "(a*)*b",
  "(a|ab)+c",
  "((ab)+x)*",
  "(\\w+\\s?)+$",
  "(?:x+y?){2,}",
  "([a-z]+)*\\d",
  "(.*)*",
])("rejects %s", (expression) => {
  expect(mayBacktrackExponentially(expression)).toBe(true);
  expect(highlightRegex(`/${expression}/`)).toBeUndefined();
  expect(missingHighlightReason(`/${expression}/`)).toContain("too long");
});

test("rejects many optional letters without groups", () => {
  expect(mayBacktrackExponentially(`${"a?".repeat(30)}${"a".repeat(30)}`)).toBe(true);
});

test.each([
  "err(or)?s?",
  "(foo|bar)+",
  "(\\d\\d:)+",
  "[(+]+",
  "\\(a+\\)+",
  "(a+)",
  "(a|ab)?",
  "(a{3})+",
  "\\d+-\\d+T\\d+:.*ms",
])("%s is", (expression) => {
  expect(mayBacktrackExponentially(expression)).toBe(false);
  expect(highlightRegex(`/${expression}/`)).toBeDefined();
});

describe("a slow expression that passes the check", () => {
  const term = "/a*a*a*a*a*a*b/";
  const line = "a".repeat(8_000);

  test("is stopped soon and not tried again", async () => {
    const regex = highlightRegex(term);
    if (!regex) throw new Error("it is tried");
    const began = performance.now();
    expect(safeMatches(line, regex)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(2_000);
    await Promise.resolve();
    expect(wasSlow(regex)).toBe(true);
    expect(highlightRegex(term)).toBeUndefined();
    expect(missingHighlightReason(term)).toContain("too long");
  });
});

test("limits the number of matches in a text", () => {
  const began = performance.now();
  const pieces = decorate(parseAnsi("ab".repeat(200_000)), highlightRegex("a"));
  expect(pieces.filter(({ isMatch }) => isMatch)).toHaveLength(MAX_MATCHES);
  expect(pieces.map(({ text }) => text).join("")).toBe("ab".repeat(200_000));
  expect(performance.now() - began).toBeLessThan(2_000);
});
