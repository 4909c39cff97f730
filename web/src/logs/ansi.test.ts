import { describe, expect, test } from "vitest";
import { extendedColorToCss, parseAnsi, stripAnsi } from "./ansi";

const ESC = "\x1b";

describe("parseAnsi", () => {
  test("returns plain text as one piece without style", () => {
    expect(parseAnsi("hello")).toEqual([{ text: "hello", style: {} }]);
    expect(parseAnsi("")).toEqual([]);
  });

  test("applies a colour until it is reset", () => {
    expect(parseAnsi(`a ${ESC}[1;31mred${ESC}[0m b`)).toEqual([
      { text: "a ", style: {} },
      { text: "red", style: { bold: true, foreground: 1 } },
      { text: " b", style: {} },
    ]);
  });

  test.each<[string, object]>([
    ["[94m", { foreground: 12 }],
    ["[103m", { background: 11 }],
    ["[38;5;208m", { foreground: 208 }],
    ["[48;2;1;2;3m", { background: "rgb(1 2 3)" }],
    ["[38:2:9:8:7m", { foreground: "rgb(9 8 7)" }],
    ["[7m", { inverse: true }],
    ["[2;3;4;9m", { dim: true, italic: true, underline: true, strike: true }],
    ["[31;39m", {}],
    ["[1;22m", {}],
    ["[m", {}],
    ["[38;5;999m", {}],
    ["[38m", {}],
    ["[38;5;1;1m", { foreground: 1, bold: true }],
  ])("%s", (codes, style) => {
    expect(parseAnsi(`${ESC}${codes}x`)).toEqual([{ text: "x", style }]);
  });

  test("drops other control sequences and characters", () => {
    const noise = `${ESC}[2K${ESC}[1Gone${ESC}]0;title\x07 two${ESC}(B three\x08${ESC}[?25h${ESC}[1`;
    expect(stripAnsi(noise)).toBe("one two three");
    expect(stripAnsi(`${ESC}]8;;http://x/${ESC}\\link${ESC}]8;;${ESC}\\`)).toBe("link");
    expect(stripAnsi("a\tb")).toBe("a\tb");
  });

  test("a carriage return overwrites the line", () => {
    expect(stripAnsi("10%\r50%\r100%")).toBe("100%");
    expect(stripAnsi("done\r")).toBe("done");
  });

  test("HTML markup stays text", () => {
    expect(parseAnsi("<img src=x onerror=alert(1)>")).toEqual([
      { text: "<img src=x onerror=alert(1)>", style: {} },
    ]);
  });

  test("parses a megabyte of control sequences", () => {
    const line = `${ESC}[31mx${ESC}[0m`.repeat(100_000);
    expect(parseAnsi(line)).toHaveLength(100_000);
    expect(stripAnsi(`${ESC}]${"x".repeat(1_000_000)}`)).toBe("");
  });
});

test("colours above 15 are those of xterm", () => {
  expect(extendedColorToCss(16)).toBe("rgb(0 0 0)");
  expect(extendedColorToCss(208)).toBe("rgb(255 135 0)");
  expect(extendedColorToCss(231)).toBe("rgb(255 255 255)");
  expect(extendedColorToCss(244)).toBe("rgb(128 128 128)");
});
