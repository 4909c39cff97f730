import { AxeBuilder } from "@axe-core/playwright";
import { expect, row, test } from "./lilt";

test.use({ tiltfile: "local_resource('hello', cmd='echo hello')\n" });

test("a stranger is asked for the token, and comes in with it", async ({ lilt, browser }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const answer = await page.goto(`${lilt.address}/r/hello/overview`);
  expect(answer?.status()).toBe(401);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This session asks for its token");
  const found = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21aa"]).analyze();
  expect(found.violations).toEqual([]);
  await page.getByLabel("Or paste the token").fill("wrong");
  await page.getByRole("button", { name: "Come in" }).click();
  await expect(page.getByRole("alert")).toHaveText("That was not this session's token.");
  await page.getByLabel("Or paste the token").fill(lilt.token);
  await page.getByRole("button", { name: "Come in" }).click();
  await expect(row(page, "hello")).toContainText("Up to date");
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
