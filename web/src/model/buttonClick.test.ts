import { expect, test } from "vitest";
import { formatMicroTime, initialInputValues, needsForm } from "./buttonClick";
import type { UIButton } from "./buttonTypes";

function button(name: string, spec: Partial<UIButton["spec"]> = {}): UIButton {
  const location = { componentType: "Resource", componentID: "api" };
  return { metadata: { name }, spec: { text: name, location, ...spec } };
}

test("inputs start with the last values, otherwise with the defaults", () => {
  const asked = button("a", {
    inputs: [
      { name: "who", text: { defaultValue: "Ada" } },
      { name: "loud", bool: { defaultValue: true } },
      { name: "tone", choice: { choices: ["warm", "cold"] } },
      { name: "key", hidden: { value: "x" } },
    ],
  });
  expect(initialInputValues(asked)).toEqual([
    { name: "who", text: { value: "Ada" } },
    { name: "loud", bool: { value: true } },
    { name: "tone", choice: { value: "warm" } },
    { name: "key", hidden: { value: "x" } },
  ]);
  asked.status = {
    inputs: [
      { name: "who", text: { value: "Grace" } },
      { name: "tone", choice: { value: "gone" } },
      { name: "key", hidden: { value: "old" } },
    ],
  };
  const values = initialInputValues(asked);
  expect(values[0]).toEqual({ name: "who", text: { value: "Grace" } });
  expect(values[2]).toEqual({ name: "tone", choice: { value: "warm" } });
  expect(values[3]).toEqual({ name: "key", hidden: { value: "x" } });
});

test("a form is needed only for visible inputs or a confirmation", () => {
  expect(needsForm(button("a"))).toBe(false);
  expect(needsForm(button("a", { inputs: [{ name: "h", hidden: { value: "" } }] }))).toBe(false);
  expect(needsForm(button("a", { requiresConfirmation: true }))).toBe(true);
  expect(needsForm(button("a", { inputs: [{ name: "t", text: {} }] }))).toBe(true);
  expect(formatMicroTime(new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6)))).toBe("2026-01-02T03:04:05.006000Z");
});
