import { describe, expect, test } from "vitest";
import type { Line } from "../generated/protocol";
import { parse } from "./ansi";
import { decorate, linksIn } from "./decorate";
import { allLines, errorsOf, matchesOf, queryOf, readFilter, writeFilter } from "./logFilter";
import { markerOf } from "./searchHighlight";
import { thumb } from "./LogScrollbar";
import { sectionWords } from "./logSections";
import { structureOf } from "./jsonLine";

describe("decorate", () => {
  const shown = (text: string, term: string) =>
    decorate(parse(text), markerOf(term)).map(({ text, marked, href }) => [text, marked, href]);

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
    const found = (text: string) => linksIn(text).map(({ from, until }) => text.slice(from, until));
    expect(found("see http://localhost:8080/a?b=c#d.")).toEqual(["http://localhost:8080/a?b=c#d"]);
    expect(found("(https://x.example/a_(b)) and 'http://y'")).toEqual([
      "https://x.example/a_(b)",
      "http://y",
    ]);
    expect(found("javascript://alert(1) ftp://x file:///etc")).toEqual([]);
    const [link] = decorate(parse("http://a/ b"), undefined);
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
    expect(queryOf(allLines)).toBe("");
    expect(queryOf(filter)).toBe(
      "resource=a+b&resource=c&source=build&level=warn&level=error&field=status%3D500&text=x%26y",
    );
    expect(queryOf({ ...allLines, level: "warnings" })).toBe("level=warn");
    expect(queryOf({ ...allLines, term: "/a|b/" })).toBe("match=%28%3Fi%29a%7Cb");
    expect(queryOf({ ...allLines, term: "a", only: false })).toBe("");
    expect(matchesOf({ ...allLines, term: "a", only: false })).toBe("text=a");
    expect(errorsOf({ ...allLines, resources: ["a"] })).toBe("resource=a&level=error");
  });

  test("goes into the address and comes back", () => {
    expect(readFilter(`?${writeFilter(filter, false)}`, [])).toEqual(filter);
    expect(readFilter("?level=loud&source=pod&r=x", ["web"])).toEqual({ ...allLines, resources: ["web"] });
    const warnings = { ...allLines, level: "warnings" as const };
    expect(readFilter(`?${writeFilter(warnings, false)}`, [])).toEqual(warnings);
    // Tilt's own words.
    expect(readFilter("?level=error&source=runtime&term=oops", [])).toMatchObject({
      level: "error",
      source: "runtime",
      term: "oops",
    });
  });
});

describe("a JSON line", () => {
  const of = (text: string) => structureOf({ text } as Line);

  test("has a message, a level and fields", () => {
    const found = of('{"ts":1,"level":"error","msg":"no","request":{"path":"/a","n":[1]},"ok":true}');
    expect(found).toMatchObject({ level: "error", message: "no" });
    expect(found?.rest).toEqual([
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
  const words = sectionWords("web:deployment", [
    "pod:web:deployment:web-1",
    "pod:web:deployment:web-1:app",
    "podlogstream:x:app",
    "serve:web:2",
  ]).map((section) => section.words);
  expect(words).toEqual(["web-1", "web-1 / app", "x / app", "serve 2"]);
});

test("the thumb is where the reader is", () => {
  expect(thumb({ first: 0, last: 9 }, 0, 10)).toEqual({ top: 0, height: 1 });
  expect(thumb({ first: 90, last: 99 }, 0, 100)).toEqual({ top: 0.9, height: 0.1 });
  const far = thumb({ first: 999_960, last: 999_999 }, 0, 1_000_000);
  expect(far.top + far.height).toBeCloseTo(1);
  expect(far.height).toBeGreaterThan(0.02);
});
