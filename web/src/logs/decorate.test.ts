import { describe, expect, test } from "vitest";
import { parseAnsi } from "./ansi";
import { decorate, findLinks } from "./decorate";
import { highlightRegex } from "./searchHighlight";

describe("decorate", () => {
  const decorateText = (text: string, term: string) =>
    decorate(parseAnsi(text), highlightRegex(term)).map(({ text, isMatch, href }) => [text, isMatch, href]);

  test("highlights matches without regard to case and across colours", () => {
    expect(decorateText("one TWO one", "two")).toEqual([
      ["one ", false, undefined],
      ["TWO", true, undefined],
      [" one", false, undefined],
    ]);
    const pieces = decorateText("\x1b[31mfo\x1b[0mo bar", "foo");
    expect(pieces.filter(([, marked]) => marked).map(([text]) => text)).toEqual(["fo", "o"]);
  });

  test("treats a term between slashes as a regular expression; an invalid one matches nothing", () => {
    expect(decorateText("a1b22", "/\\d+/").filter(([, marked]) => marked)).toHaveLength(2);
    expect(decorateText("a(b", "/(/")).toEqual([["a(b", false, undefined]]);
    expect(decorateText("a(b", "(")[1]).toEqual(["(", true, undefined]);
    // Matches the empty string everywhere.
    expect(decorateText("abc", "/x*/")).toEqual([["abc", false, undefined]]);
  });

  test("turns URLs into links, without the punctuation around them", () => {
    const linkTexts = (text: string) => findLinks(text).map(({ from, to }) => text.slice(from, to));
    expect(linkTexts("see http://localhost:8080/a?b=c#d.")).toEqual(["http://localhost:8080/a?b=c#d"]);
    expect(linkTexts("(https://x.example/a_(b)) and 'http://y'")).toEqual([
      "https://x.example/a_(b)",
      "http://y",
    ]);
    expect(linkTexts("javascript://alert(1) ftp://x file:///etc")).toEqual([]);
    const [link] = decorate(parseAnsi("http://a/ b"), undefined);
    expect(link).toMatchObject({ text: "http://a/", href: "http://a/" });
  });
});
