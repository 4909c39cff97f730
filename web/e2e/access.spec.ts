import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { violations } from "./axe";
import { expect, Lilt, test } from "./lilt";
import { RewritingProxy } from "./proxy";

test.use({ tiltfile: "local_resource('hello', cmd='echo hello')\n" });

test("asks a browser without a cookie to sign in, and accepts a link", async ({ lilt, browser }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const response = await page.goto(`${lilt.address}/r/hello/overview?term=hello&level=info`);
  expect(response?.status()).toBe(401);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to this lilt session");
  expect(await violations(page, "sign in")).toEqual([]);
  await page.getByLabel("Or paste the link").fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toHaveText("That link is not one of this session.");
  await page.getByLabel("Or paste the link").fill(lilt.link());
  await page.getByRole("button", { name: "Continue" }).click();
  // The sign-in leads on to the requested page.
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  expect(new URL(page.url()).pathname).toBe("/r/hello/overview");
  // The code does not stay in the URL, and scripts cannot read the cookie.
  expect(page.url()).not.toContain("code=");
  expect(await page.evaluate(() => document.cookie)).toBe("");
  await context.close();
});

test("a sign-in link works once, and a bookmark works in the next session with a kept token", async ({
  lilt,
  browser,
}) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const link = lilt.link("/r/hello/overview?term=hello");
  await page.goto(link);
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  await page.goto(link);
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  const other = await browser.newContext();
  expect((await other.request.get(link)).status()).toBe(401);
  await other.close();
  await lilt.kill("SIGTERM");
  await lilt.up();
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("log")).toContainText("hello");
  await context.close();
});

test("asks an open page to sign in when the token was rotated", async ({ lilt, page, pageErrors }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("log")).toContainText("hello");
  lilt.runCommand("token", "--rotate");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to this lilt session");
  await page.goto(lilt.link("/r/hello/overview"));
  await expect(page.getByRole("log")).toContainText("hello");
  // The browser logs every refused request.
  pageErrors.length = 0;
});

test("accepts a signed-in browser that follows a link on another site, but not its forms", async ({
  lilt,
  browser,
}) => {
  const target = `${lilt.address}/r/hello/overview`;
  // For a browser, 127.0.0.1 is another site than localhost.
  const otherSite = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<a href="${target}">our log</a> <form method="post" action="${lilt.address}/api/trigger"><button>Do</button></form>`,
    );
  });
  await new Promise<void>((done) => otherSite.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${(otherSite.address() as AddressInfo).port}/`;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(lilt.link());
  await page.goto(address);
  await page.getByRole("link", { name: "our log" }).click();
  await expect(page.getByRole("log")).toContainText("hello");
  // A form of another site is refused.
  await page.goto(address);
  const [refusedResponse] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/api/trigger")),
    page.getByRole("button", { name: "Do" }).click(),
  ]);
  expect(refusedResponse.status()).toBe(403);
  await context.close();
  otherSite.close();
});

test("shows the command to run behind a proxy that rewrites the host", async ({ lilt, browser }) => {
  const proxy = await RewritingProxy.start();
  proxy.target = lilt.port;
  const context = await browser.newContext();
  const page = await context.newPage();
  const code = new URL(lilt.link()).searchParams.get("code");
  // The page itself loads: the request for it has no origin.
  await page.goto(`${proxy.address}/?code=${code}`);
  const banner = page.getByRole("alert");
  await expect(banner).toContainText("lilt refuses this page.");
  await expect(banner).toContainText(`Pages of other sites (${proxy.address})`);
  await expect(banner.locator("code")).toHaveText(`lilt up --allowed-host 127.0.0.1:${proxy.port}`);
  await expect(page.getByText("No connection to lilt.")).toHaveCount(0);
  expect(await violations(page, "a refused page")).toEqual([]);

  // The suggested option works.
  const allowed = await Lilt.start("local_resource('hello', cmd='echo hello')\n", {
    flags: [`--allowed-host=127.0.0.1:${proxy.port}`],
  });
  proxy.target = allowed.port;
  await page.goto(`${proxy.address}/?code=${new URL(allowed.link()).searchParams.get("code")}`);
  await expect(page.locator('tr[data-resource="hello"]')).toContainText("Up to date");
  await expect(banner).toHaveCount(0);
  await context.close();
  await allowed.stop();
  proxy.stop();
});
