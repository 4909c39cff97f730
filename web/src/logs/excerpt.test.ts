import { describe, expect, test } from "vitest";
import { excerpt, EXPAND_STEP, INITIAL_LENGTH } from "./excerpt";

describe("excerpt of a long line", () => {
  const long = `${"a".repeat(50_000)}Needle${"b".repeat(50_000)}`;

  test("starts with the beginning and grows when expanded", () => {
    expect(excerpt("short", "", 0)).toEqual({ text: "short", before: 0, after: 0 });
    expect(excerpt(long, "", 0)).toMatchObject({ before: 0, after: long.length - INITIAL_LENGTH });
    expect(excerpt(long, "", 1).text).toBe(long);
    const longer = long.repeat(3);
    expect(excerpt(longer, "", 2)).toEqual({
      text: longer.slice(0, INITIAL_LENGTH + 2 * EXPAND_STEP),
      before: 0,
      after: longer.length - INITIAL_LENGTH - 2 * EXPAND_STEP,
    });
  });

  test("contains the match", () => {
    const { text, before, after } = excerpt(long, "needle", 0);
    expect(text).toContain("Needle");
    expect(before).toBe(49_960);
    expect(before + text.length + after).toBe(long.length);
    expect(excerpt(long, "aaa", 0).before).toBe(0);
    expect(excerpt(long, "nowhere", 0).before).toBe(0);
  });
});
