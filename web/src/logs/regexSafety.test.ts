import { describe, expect, test } from "vitest";
import { parse } from "./ansi";
import { decorate } from "./decorate";
import { markerOf, unmarkedWords } from "./searchHighlight";
import { isExplosive, isSlow, matchesIn, MOST_MARKS } from "./regexSafety";

test.each([
  "(a+)+$",
  "(a*)*b",
  "(a|ab)+c",
  "((ab)+x)*",
  "(\\w+\\s?)+$",
  "(?:x+y?){2,}",
  "([a-z]+)*\\d",
  "(.*)*",
])("%s is not tried at all", (expression) => {
  expect(isExplosive(expression)).toBe(true);
  expect(markerOf(`/${expression}/`)).toBeUndefined();
  expect(unmarkedWords(`/${expression}/`)).toContain("too long");
});

test("nor is one that has very many ways without any brackets", () => {
  expect(isExplosive(`${"a?".repeat(30)}${"a".repeat(30)}`)).toBe(true);
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
  expect(isExplosive(expression)).toBe(false);
  expect(markerOf(`/${expression}/`)).toBeDefined();
});

describe("an expression that is slow in another way", () => {
  const term = "/a*a*a*a*a*a*b/";
  const line = "a".repeat(8_000);

  test("is given up soon, and remembered", async () => {
    const marker = markerOf(term);
    if (!marker) throw new Error("it is tried");
    const began = performance.now();
    expect(matchesIn(line, marker)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(2_000);
    await Promise.resolve();
    expect(isSlow(marker)).toBe(true);
    expect(markerOf(term)).toBeUndefined();
    expect(unmarkedWords(term)).toContain("too long");
  });
});

test("a text is marked as often as is of use, and soon", () => {
  const began = performance.now();
  const pieces = decorate(parse("ab".repeat(200_000)), markerOf("a"));
  expect(pieces.filter(({ marked }) => marked)).toHaveLength(MOST_MARKS);
  expect(pieces.map(({ text }) => text).join("")).toBe("ab".repeat(200_000));
  expect(performance.now() - began).toBeLessThan(2_000);
});
