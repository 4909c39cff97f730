import { describe, expect, test } from "vitest";
import { allLines, errorQuery, filterFromUrl, filterToUrl, logQuery, matchQuery } from "./logFilter";

describe("log filter", () => {
  const filter = {
    ...allLines,
    resources: ["a b", "c"],
    source: "build" as const,
    level: "warn" as const,
    term: "x&y",
    fields: ["status=500"],
  };

  test("is converted to a query", () => {
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

  test("survives a round trip through the URL", () => {
    expect(filterFromUrl(`?${filterToUrl(filter, false)}`, [])).toEqual(filter);
    expect(filterFromUrl("?level=loud&source=pod&r=x", ["web"])).toEqual({ ...allLines, resources: ["web"] });
    const warnings = { ...allLines, level: "warnings" as const };
    expect(filterFromUrl(`?${filterToUrl(warnings, false)}`, [])).toEqual(warnings);
    // The parameters of Tilt.
    expect(filterFromUrl("?level=error&source=runtime&term=oops", [])).toMatchObject({
      level: "error",
      source: "runtime",
      term: "oops",
    });
  });
});
