import { expect, test } from "vitest";
import { labelWidth, NameLabels } from "./nameLabels";

function labels(width: number, names: readonly string[]): string[] {
  const column = new NameLabels(width);
  return names.map((name) => column.label(name));
}

test("shows short names in full and the start of longer ones", () => {
  expect(labels(15, ["web", "fifteen-letters", "web-with-a-very-long-name"])).toEqual([
    "web",
    "fifteen-letters",
    "web-with-a-ver…",
  ]);
});

test("gives names with equal prefixes different labels", () => {
  const names = ["payments-service-api", "payments-service-worker", "payments-service-api"];
  expect(labels(15, names)).toEqual(["payments-servi…", "payment…-worker", "payments-servi…"]);
  expect(labels(8, names)).toEqual(["payment…", "pay…rker", "payment…"]);
});

test("counts wide characters twice", () => {
  expect(labels(8, ["データベース", "データベーク"])).toEqual(["データ…", "デ…ーク"]);
});

test("gives 500 similar names unique labels of the right width", () => {
  const names = Array.from(
    { length: 500 },
    (_, at) => `aaaaaaaaaaaa${String(at).padStart(4, "0")}bbbbbbbbbbbb`,
  );
  for (const width of [8, 11, 15]) {
    const found = labels(width, names);
    expect(new Set(found).size).toBe(names.length);
    expect(Math.max(...found.map((label) => label.length))).toBeLessThanOrEqual(width);
  }
});

test("chooses the label width by screen width", () => {
  expect([500, 680, 681, 900, 901].map(labelWidth)).toEqual([8, 8, 11, 11, 15]);
});
