import { expect, test } from "vitest";
import { logActions, registerLogActions } from "./logActions";

test("what a log offers goes with it, unless another one has come", () => {
  const [one, other] = [() => {}, () => {}];
  const end = registerLogActions({ follow: one });
  const endOther = registerLogActions({ follow: other });
  end();
  expect(logActions.follow).toBe(other);
  endOther();
  expect(logActions.follow).toBeUndefined();
});
