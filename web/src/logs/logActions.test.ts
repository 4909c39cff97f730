import { expect, test } from "vitest";
import { logActions, registerLogActions } from "./logActions";

test("unregisters the actions of a log, unless another log replaced them", () => {
  const [one, other] = [() => {}, () => {}];
  const end = registerLogActions({ follow: one });
  const endOther = registerLogActions({ follow: other });
  end();
  expect(logActions.follow).toBe(other);
  endOther();
  expect(logActions.follow).toBeUndefined();
});
