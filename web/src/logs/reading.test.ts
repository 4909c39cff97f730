import { afterEach, describe, expect, test, vi } from "vitest";
import type { Line, PageMessage } from "../generated/protocol";
import { nextCursorIndex } from "./lineCursor";
import { excerpt, EXPAND_STEP, INITIAL_LENGTH } from "./excerpt";
import { readableFailure, highlightRegex, plainSearchText, missingHighlightReason } from "./searchHighlight";
import { styleToCss } from "./ansiStyle";
import { registerLogActions, logActions } from "./logActions";
import { logDownloadUrl, LiveLog } from "./liveLog";

const marked = (term: string, text: string) =>
  [...text.matchAll(highlightRegex(term) ?? /$^/g)].map(([it]) => it);

describe("marks", () => {
  test("capitals and small letters are alike, unless the expression says otherwise", () => {
    expect(marked("error", "Error error")).toEqual(["Error", "error"]);
    expect(marked("/err?or/", "Error eror")).toEqual(["Error", "eror"]);
    expect(marked("/(?-i)error/", "Error error")).toEqual(["error"]);
    expect(marked("/(?i)error/", "Error error")).toEqual(["Error", "error"]);
  });

  test("what the session understands and a browser does not is translated", () => {
    expect(marked("/[[:alpha:]]+/", "ab1ü")).toEqual(["ab", "ü"]);
    expect(marked("/\\Aab\\z/", "ab")).toEqual(["ab"]);
    expect(marked("/a\\-b/", "a-b")).toEqual(["a-b"]);
    // A backslash before it is a letter.
    expect(marked("/\\\\A/", "\\A")).toEqual(["\\A"]);
    expect(missingHighlightReason("/(?x) a b/")).toContain("does not understand");
    expect(missingHighlightReason("/a b/")).toBe("");
    expect(missingHighlightReason("(a+)+")).toBe("");
    expect(plainSearchText("/A/")).toBe("");
    expect(plainSearchText("ABc")).toBe("abc");
  });

  test("of a refused expression it is told what is wrong", () => {
    const said = "not understood: match: regex parse error:\n    (?i)(\n        ^\nerror: unclosed group";
    expect(readableFailure(said)).toBe("This is not a regular expression: unclosed group");
    expect(readableFailure("no connection")).toBe("no connection");
  });
});

describe("an excerpt of a long line", () => {
  const long = `${"a".repeat(50_000)}Needle${"b".repeat(50_000)}`;

  test("is its beginning, then more of it", () => {
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

  test("has what is sought in it", () => {
    const { text, before, after } = excerpt(long, "needle", 0);
    expect(text).toContain("Needle");
    expect(before).toBe(49_960);
    expect(before + text.length + after).toBe(long.length);
    expect(excerpt(long, "aaa", 0).before).toBe(0);
    expect(excerpt(long, "nowhere", 0).before).toBe(0);
  });
});

test("a step goes from the current line, or begins with what is in sight", () => {
  const rows = [3, 5, 8, 9].map((seq) => ({ seq }) as Line);
  const seen = { first: 5, last: 9 };
  expect(nextCursorIndex(rows, 8, seen, 1)).toBe(3);
  expect(nextCursorIndex(rows, 9, seen, 1)).toBe(3);
  expect(nextCursorIndex(rows, 5, seen, -1)).toBe(0);
  expect(nextCursorIndex(rows, undefined, seen, 1)).toBe(1);
  expect(nextCursorIndex(rows, undefined, seen, -1)).toBe(3);
  expect(nextCursorIndex(rows, 3, seen, 1)).toBe(1);
  // Hidden by a filter since.
  expect(nextCursorIndex(rows, 6, seen, -1)).toBe(3);
});

test("colours of a terminal are classes of the theme or fixed, and are swapped where it says so", () => {
  expect(styleToCss({ foreground: 2, bold: true })).toEqual({ classes: "f2 bold", colors: undefined });
  expect(styleToCss({ background: 196 }).colors).toEqual({ "background-color": "rgb(255 0 0)" });
  expect(styleToCss({ foreground: "rgb(1 2 3)" }).colors).toEqual({ color: "rgb(1 2 3)" });
  expect(styleToCss({ inverse: true })).toEqual({ classes: "inverse", colors: undefined });
  expect(styleToCss({ inverse: true, foreground: 1 }).classes).toBe("b1 on-color");
  expect(styleToCss({ inverse: true, foreground: 1, background: 4 }).classes).toBe("f4 b1");
});

test("what a log offers goes with it, unless another one has come", () => {
  const [one, other] = [() => {}, () => {}];
  const end = registerLogActions({ follow: one });
  const endOther = registerLogActions({ follow: other });
  end();
  expect(logActions.follow).toBe(other);
  endOther();
  expect(logActions.follow).toBeUndefined();
});

test("cleared lines are neither copied nor downloaded", () => {
  expect(logDownloadUrl("text=a", 0, "a b")).toBe("/api/logs?format=text&download=a%20b&text=a");
  expect(logDownloadUrl("", 12, "all.log")).toBe("/api/logs?format=text&download=all.log&from=12");
});

describe("the log of a session", () => {
  afterEach(() => vi.unstubAllGlobals());

  test("is followed on from where it was when the connection was lost", () => {
    const sent: PageMessage[] = [];
    let there = true;
    const log = new LiveLog((message) => {
      if (there) sent.push(message);
      return there;
    });
    log.onHello("a");
    const received: number[] = [];
    const unfollow = log.follow("text=x", 7, (lines) => received.push(...lines.map(({ seq }) => seq)));
    expect(sent).toEqual([{ type: "follow", follow: 1, query: "text=x", from: 7 }]);
    const lines = [{ seq: 8 } as Line];
    log.receive({ type: "lines", follow: 1, lines, next: 9 });
    // Of what was followed before.
    log.receive({ type: "lines", follow: 0, lines, next: 99 });
    expect(received).toEqual([8]);
    there = false;
    there = true;
    log.onHello("a");
    expect(sent.at(-1)).toEqual({ type: "follow", follow: 1, query: "text=x", from: 9 });
    unfollow();
    expect(sent.at(-1)).toEqual({ type: "unfollow" });
    // Another session knows nothing of it.
    const before = sent.length;
    log.follow("", 0, () => {});
    log.onHello("b");
    expect(sent).toHaveLength(before + 1);
    expect(log.session.value).toBe("b");
  });
});
