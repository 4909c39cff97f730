import { describe, expect, test } from "vitest";
import type { Line } from "../generated/protocol";
import { parseAnsi } from "./ansi";
import { decorate, findLinks } from "./decorate";
import { allLines, errorQuery, matchQuery, logQuery, filterFromUrl, filterToUrl } from "./logFilter";
import { highlightRegex } from "./searchHighlight";
import { thumbPosition } from "./LogScrollbar";
import { labelSections } from "./logSections";
import { parseJsonLine } from "./jsonLine";

describe("decorate", () => {
  const shown = (text: string, term: string) =>
    decorate(parseAnsi(text), highlightRegex(term)).map(({ text, isMatch, href }) => [text, isMatch, href]);

  test("marks what is searched, without regard to case, also across colours", () => {
    expect(shown("one TWO one", "two")).toEqual([
      ["one ", false, undefined],
      ["TWO", true, undefined],
      [" one", false, undefined],
    ]);
    const pieces = shown("\x1b[31mfo\x1b[0mo bar", "foo");
    expect(pieces.filter(([, marked]) => marked).map(([text]) => text)).toEqual(["fo", "o"]);
  });

  test("a regular expression stands between slashes; a wrong one marks nothing", () => {
    expect(shown("a1b22", "/\\d+/").filter(([, marked]) => marked)).toHaveLength(2);
    expect(shown("a(b", "/(/")).toEqual([["a(b", false, undefined]]);
    expect(shown("a(b", "(")[1]).toEqual(["(", true, undefined]);
    // Matches nothing, everywhere.
    expect(shown("abc", "/x*/")).toEqual([["abc", false, undefined]]);
  });

  test("addresses are links, without the sentence around them", () => {
    const found = (text: string) => findLinks(text).map(({ from, to }) => text.slice(from, to));
    expect(found("see http://localhost:8080/a?b=c#d.")).toEqual(["http://localhost:8080/a?b=c#d"]);
    expect(found("(https://x.example/a_(b)) and 'http://y'")).toEqual([
      "https://x.example/a_(b)",
      "http://y",
    ]);
    expect(found("javascript://alert(1) ftp://x file:///etc")).toEqual([]);
    const [link] = decorate(parseAnsi("http://a/ b"), undefined);
    expect(link).toMatchObject({ text: "http://a/", href: "http://a/" });
  });
});

describe("a filter", () => {
  const filter = {
    ...allLines,
    resources: ["a b", "c"],
    source: "build" as const,
    level: "warn" as const,
    term: "x&y",
    fields: ["status=500"],
  };

  test("is asked of the session", () => {
    expect(logQuery(allLines)).toBe("");
    expect(logQuery(filter)).toBe(
      "resource=a+b&resource=c&source=build&level=warn&level=error&field=status%3D500&text=x%26y",
    );
    expect(logQuery({ ...allLines, level: "warnings" })).toBe("level=warn");
    expect(logQuery({ ...allLines, term: "/a|b/" })).toBe("match=%28%3Fi%29a%7Cb");
    expect(logQuery({ ...allLines, term: "a", onlyMatches: false })).toBe("");
    expect(matchQuery({ ...allLines, term: "a", onlyMatches: false })).toBe("text=a");
    expect(errorQuery({ ...allLines, resources: ["a"] })).toBe("resource=a&level=error");
  });

  test("goes into the address and comes back", () => {
    expect(filterFromUrl(`?${filterToUrl(filter, false)}`, [])).toEqual(filter);
    expect(filterFromUrl("?level=loud&source=pod&r=x", ["web"])).toEqual({ ...allLines, resources: ["web"] });
    const warnings = { ...allLines, level: "warnings" as const };
    expect(filterFromUrl(`?${filterToUrl(warnings, false)}`, [])).toEqual(warnings);
    // Tilt's own words.
    expect(filterFromUrl("?level=error&source=runtime&term=oops", [])).toMatchObject({
      level: "error",
      source: "runtime",
      term: "oops",
    });
  });
});

describe("a JSON line", () => {
  const of = (text: string) => parseJsonLine({ text } as Line);

  test("has a message, a level and fields", () => {
    const found = of('{"ts":1,"level":"error","msg":"no","request":{"path":"/a","n":[1]},"ok":true}');
    expect(found).toMatchObject({ level: "error", message: "no" });
    expect(found?.otherFields).toEqual([
      { path: "request.path", value: "/a" },
      { path: "request.n", value: "[1]" },
      { path: "ok", value: "true" },
    ]);
    expect(found?.fields).toHaveLength(6);
  });

  test("is one only if all of it is", () => {
    for (const text of ["{", "{}", "[1]", 'x {"a":1}', '{"a":1} x', "{a:1}", "plain"]) {
      expect(of(text)).toBeUndefined();
    }
    expect(of('\x1b[32m{"a":1}\x1b[0m')?.fields).toEqual([{ path: "a", value: "1" }]);
  });
});

test("sections are called what people call them", () => {
  const words = labelSections("web:deployment", [
    "pod:web:deployment:web-1",
    "pod:web:deployment:web-1:app",
    "podlogstream:x:app",
    "serve:web:2",
  ]).map((section) => section.label);
  expect(words).toEqual(["web-1", "web-1 / app", "x / app", "serve 2"]);
});

test("the thumb is where the reader is", () => {
  expect(thumbPosition({ first: 0, last: 9 }, 0, 10)).toEqual({ top: 0, height: 1 });
  expect(thumbPosition({ first: 90, last: 99 }, 0, 100)).toEqual({ top: 0.9, height: 0.1 });
  const far = thumbPosition({ first: 999_960, last: 999_999 }, 0, 1_000_000);
  expect(far.top + far.height).toBeCloseTo(1);
  expect(far.height).toBeGreaterThan(0.02);
});
