import { describe, expect, test } from "vitest";
import { highlightRegex, missingHighlightReason, plainSearchText, readableFailure } from "./searchHighlight";

const highlighted = (term: string, text: string) =>
  [...text.matchAll(highlightRegex(term) ?? /$^/g)].map(([it]) => it);

describe("highlights", () => {
  test("ignore case unless the expression says otherwise", () => {
    expect(highlighted("error", "Error error")).toEqual(["Error", "error"]);
    expect(highlighted("/err?or/", "Error eror")).toEqual(["Error", "eror"]);
    expect(highlighted("/(?-i)error/", "Error error")).toEqual(["error"]);
    expect(highlighted("/(?i)error/", "Error error")).toEqual(["Error", "error"]);
  });

  test("translate Rust syntax that JavaScript lacks", () => {
    expect(highlighted("/[[:alpha:]]+/", "ab1ü")).toEqual(["ab", "ü"]);
    expect(highlighted("/\\Aab\\z/", "ab")).toEqual(["ab"]);
    expect(highlighted("/a\\-b/", "a-b")).toEqual(["a-b"]);
    // After an escaped backslash, A is a letter.
    expect(highlighted("/\\\\A/", "\\A")).toEqual(["\\A"]);
    expect(missingHighlightReason("/(?x) a b/")).toContain("does not understand");
    expect(missingHighlightReason("/a b/")).toBe("");
    expect(missingHighlightReason("(a+)+")).toBe("");
    expect(plainSearchText("/A/")).toBe("");
    expect(plainSearchText("ABc")).toBe("abc");
  });

  test("readableFailure returns the cause of a rejected expression", () => {
    const said = "not understood: match: regex parse error:\n    (?i)(\n        ^\nerror: unclosed group";
    expect(readableFailure(said)).toBe("This is not a regular expression: unclosed group");
    expect(readableFailure("no connection")).toBe("no connection");
  });
});
