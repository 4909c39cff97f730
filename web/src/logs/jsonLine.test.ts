import { describe, expect, test } from "vitest";
import type { Line } from "../generated/protocol";
import { parseJsonLine } from "./jsonLine";

describe("JSON line", () => {
  const of = (text: string) => parseJsonLine({ text } as Line);

  test("is parsed into message, level and fields", () => {
    const found = of('{"ts":1,"level":"error","msg":"no","request":{"path":"/a","n":[1]},"ok":true}');
    expect(found).toMatchObject({ level: "error", message: "no" });
    expect(found?.otherFields).toEqual([
      { path: "request.path", value: "/a" },
      { path: "request.n", value: "[1]" },
      { path: "ok", value: "true" },
    ]);
    expect(found?.fields).toHaveLength(6);
  });

  test("is recognized only if the whole line is an object", () => {
    for (const text of ["{", "{}", "[1]", 'x {"a":1}', '{"a":1} x', "{a:1}", "plain"]) {
      expect(of(text)).toBeUndefined();
    }
    expect(of('\x1b[32m{"a":1}\x1b[0m')?.fields).toEqual([{ path: "a", value: "1" }]);
  });
});
