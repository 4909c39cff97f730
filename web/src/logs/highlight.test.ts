import { expect, test } from "vitest";
import { parse } from "./ansi";
import { highlight } from "./highlight";

function shown(line: string, searched: string): string {
  return highlight(parse(line), searched)
    .map((piece) => (piece.marked ? `[${piece.text}]` : piece.text))
    .join("");
}

test.each([
  ["an error here", "ERROR", "an [error] here"],
  ["aaa", "a", "[aaa]"],
  ["nothing", "", "nothing"],
  ["nothing", "x", "nothing"],
  ["err", "err", "[err]"],
])("%s / %s", (line, searched, wanted) => {
  expect(shown(line, searched).replaceAll("][", "")).toBe(wanted);
});

test("a match may run across colours", () => {
  expect(shown("e\x1b[31mrr\x1b[0mor!", "error")).toBe("[e][rr][or]!");
});

test("letters that change their length in lower case mark nothing wrong", () => {
  expect(shown("İ error", "error")).toBe("İ error");
});
