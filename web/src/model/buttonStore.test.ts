import { expect, test } from "vitest";
import { ButtonStore } from "./buttonStore";
import type { UIButton } from "./buttonTypes";

function button(name: string, spec: Partial<UIButton["spec"]> = {}): UIButton {
  const location = { componentType: "Resource", componentID: "api" };
  return { metadata: { name }, spec: { text: name, location, ...spec } };
}

test("finds buttons by location", () => {
  const buttons = new ButtonStore();
  const nav = { componentType: "Global", componentID: "nav" };
  buttons.apply({
    type: "buttons",
    complete: true,
    buttons: [button("b"), button("a"), button("n", { location: nav })],
    removed: [],
  });
  expect(buttons.forResource("api").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
  expect(buttons.inNavigationBar.map(({ metadata }) => metadata.name)).toEqual(["n"]);
  buttons.apply({ type: "buttons", complete: false, buttons: [], removed: ["a"] });
  expect(buttons.forResource("api")).toHaveLength(1);
  expect(buttons.forResource("web")).toEqual([]);
});
