import { afterEach, expect, test, vi } from "vitest";
import { checkAccess } from "./accessCheck";

afterEach(() => vi.unstubAllGlobals());

/** What the session answers, by method. */
function answers(get: number, post: number, body = ""): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string, options: RequestInit) => {
    asked.push(`${options.method ?? "GET"} ${path}`);
    return new Response(options.method === "POST" && post !== 204 ? body : null, {
      status: options.method === "POST" ? post : get,
    });
  });
  return asked;
}

test('returns "sign in" when the token is not accepted', async () => {
  const asked = answers(401, 204);
  expect(await checkAccess()).toBe("sign in");
  expect(asked).toEqual(["GET /overview"]);
});

test("returns undefined when the session accepts the page", async () => {
  const asked = answers(200, 204);
  expect(await checkAccess()).toBeUndefined();
  expect(asked).toEqual(["GET /overview", "POST /api/access"]);
});

test("returns the refusal when the session refuses the origin", async () => {
  const refusal = { error: "no", command: "lilt up --allowed-host box" };
  answers(200, 403, JSON.stringify(refusal));
  expect(await checkAccess()).toEqual(refusal);
});

test("returns undefined when the response does not come from lilt", async () => {
  answers(200, 403, "<html>");
  expect(await checkAccess()).toBeUndefined();
  answers(200, 403, '"no"');
  expect(await checkAccess()).toBeUndefined();
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nobody")));
  expect(await checkAccess()).toBeUndefined();
});
