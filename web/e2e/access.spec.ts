import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { violations } from "./axe";
import { expect, test } from "./lilt";

test.use({ tiltfile: "local_resource('hello', cmd='echo hello')\n" });

test("a stranger is asked for the token, and comes in with it", async ({ lilt, browser }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const answer = await page.goto(`${lilt.address}/r/hello/overview?term=hello&level=info`);
  expect(answer?.status()).toBe(401);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This session asks for its token");
  expect(await violations(page, "the token")).toEqual([]);
  await page.getByLabel("Or paste the token").fill("wrong");
  await page.getByRole("button", { name: "Come in" }).click();
  await expect(page.getByRole("alert")).toHaveText("That was not this session's token.");
  await page.getByLabel("Or paste the token").fill(lilt.token);
  await page.getByRole("button", { name: "Come in" }).click();
  // It leads on to what was asked for.
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  expect(new URL(page.url()).pathname).toBe("/r/hello/overview");
  // The token is not left in the address, and scripts do not see the cookie.
  expect(page.url()).not.toContain(lilt.token);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  await context.close();
});

test("the printed link lets in, bookmarks work, also with the next session", async ({ lilt, browser }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${lilt.address}/r/hello/overview?token=${lilt.token}&term=hello`);
  await expect(page.getByRole("log").locator("mark").first()).toHaveText("hello");
  await lilt.kill("SIGTERM");
  await lilt.up();
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("log")).toContainText("hello");
  await context.close();
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
  await page.goto(`${lilt.address}/?token=${lilt.token}`);
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
