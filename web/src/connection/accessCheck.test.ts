import { afterEach, expect, test, vi } from "vitest";
import { checkAccess } from "./accessCheck";

afterEach(() => vi.unstubAllGlobals());

/** Stubs `fetch` with a status for each method, and returns the requests. */
function stubFetch(get: number, post: number, body = ""): string[] {
  const requests: string[] = [];
  vi.stubGlobal("fetch", async (path: string, options: RequestInit) => {
    requests.push(`${options.method ?? "GET"} ${path}`);
    return new Response(options.method === "POST" && post !== 204 ? body : null, {
      status: options.method === "POST" ? post : get,
    });
  });
  return requests;
}

test('returns "sign in" when the token is not accepted', async () => {
  const asked = stubFetch(401, 204);
  expect(await checkAccess()).toBe("sign in");
  expect(asked).toEqual(["GET /overview"]);
});

test("returns undefined when the session accepts the page", async () => {
  const asked = stubFetch(200, 204);
  expect(await checkAccess()).toBeUndefined();
  expect(asked).toEqual(["GET /overview", "POST /api/access"]);
});

test("returns the refusal when the session refuses the origin", async () => {
  const refusal = { error: "no", command: "lilt up --allowed-host box" };
  stubFetch(200, 403, JSON.stringify(refusal));
  expect(await checkAccess()).toEqual(refusal);
});

test("returns undefined when the response does not come from lilt", async () => {
  stubFetch(200, 403, "<html>");
  expect(await checkAccess()).toBeUndefined();
  stubFetch(200, 403, '"no"');
  expect(await checkAccess()).toBeUndefined();
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nobody")));
  expect(await checkAccess()).toBeUndefined();
});
