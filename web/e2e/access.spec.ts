import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { violations } from "./axe";
import { expect, Lilt, test } from "./lilt";
import { RewritingProxy } from "./proxy";

test.use({ tiltfile: "local_resource('hello', cmd='echo hello')\n" });

test("a browser without a cookie is asked to sign in, and does with a link", async ({ lilt, browser }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const answer = await page.goto(`${lilt.address}/r/hello/overview?term=hello&level=info`);
  expect(answer?.status()).toBe(401);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to this lilt session");
  expect(await violations(page, "sign in")).toEqual([]);
  await page.getByLabel("Or paste the link").fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toHaveText("That link is not one of this session.");
  await page.getByLabel("Or paste the link").fill(lilt.link());
  await page.getByRole("button", { name: "Continue" }).click();
  // It leads on to what was asked for.
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  expect(new URL(page.url()).pathname).toBe("/r/hello/overview");
  // The code is not left in the address, and scripts do not see the cookie.
  expect(page.url()).not.toContain("code=");
  expect(await page.evaluate(() => document.cookie)).toBe("");
  await context.close();
});

test("a link works once, bookmarks work, with a kept token also in the next session", async ({
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

test("an open page whose token was replaced asks to sign in", async ({ lilt, page, complaints }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("log")).toContainText("hello");
  lilt.command("token", "--rotate");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to this lilt session");
  await page.goto(lilt.link("/r/hello/overview"));
  await expect(page.getByRole("log")).toContainText("hello");
  // The browser logs each refused request.
  complaints.length = 0;
});

test("a link on another site's page leads in who was let in once", async ({ lilt, browser }) => {
  const target = `${lilt.address}/r/hello/overview`;
  // To a browser 127.0.0.1 is another site than localhost.
  const elsewhere = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<a href="${target}">our log</a> <form method="post" action="${lilt.address}/api/trigger"><button>Do</button></form>`,
    );
  });
  await new Promise<void>((done) => elsewhere.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(lilt.link());
  await page.goto(address);
  await page.getByRole("link", { name: "our log" }).click();
  await expect(page.getByRole("log")).toContainText("hello");
  // What it sends by itself is refused.
  await page.goto(address);
  const [refused] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/api/trigger")),
    page.getByRole("button", { name: "Do" }).click(),
  ]);
  expect(refused.status()).toBe(403);
  await context.close();
  elsewhere.close();
});

test("behind a proxy that rewrites the host, the page says what to run", async ({ lilt, browser }) => {
  const proxy = await RewritingProxy.start();
  proxy.target = lilt.port;
  const context = await browser.newContext();
  const page = await context.newPage();
  const code = new URL(lilt.link()).searchParams.get("code");
  // The page itself comes: a visit has no origin.
  await page.goto(`${proxy.address}/?code=${code}`);
  const banner = page.getByRole("alert");
  await expect(banner).toContainText("lilt refuses this page.");
  await expect(banner).toContainText(`Pages of other sites (${proxy.address})`);
  await expect(banner.locator("code")).toHaveText(`lilt up --allowed-host 127.0.0.1:${proxy.port}`);
  await expect(page.getByText("No connection to lilt.")).toHaveCount(0);
  expect(await violations(page, "a refused page")).toEqual([]);

  // What it says helps.
  const allowed = await Lilt.start("local_resource('hello', cmd='echo hello')\n", {
    variables: { LILT_ALLOWED_HOSTS: `127.0.0.1:${proxy.port}` },
  });
  proxy.target = allowed.port;
  await page.goto(`${proxy.address}/?code=${new URL(allowed.link()).searchParams.get("code")}`);
  await expect(page.locator('tr[data-resource="hello"]')).toContainText("Up to date");
  await expect(banner).toHaveCount(0);
  await context.close();
  await allowed.end();
  proxy.end();
});
