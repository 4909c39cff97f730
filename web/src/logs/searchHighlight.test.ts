import { describe, expect, test } from "vitest";
import { highlightRegex, missingHighlightReason, plainSearchText, readableFailure } from "./searchHighlight";

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
