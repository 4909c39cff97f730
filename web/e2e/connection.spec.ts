import { expect, row, test } from "./lilt";

// Nothing that is served: who kills a session outright leaves its processes behind.
test.use({ tiltfile: "local_resource('hello', cmd='echo first session')\n" });

test("a lost connection is shown and heals without a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  const icon = page.locator("link[rel=icon]");
  await expect(icon).toHaveAttribute("href", "/favicon.svg");
  const before = await row(page, "hello").boundingBox();

  await lilt.kill();
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
  await expect(page).toHaveTitle(/^⚠/);
  await expect(icon).toHaveAttribute("href", /^data:image/);
  // What one reads stays where it is.
  expect(await row(page, "hello").boundingBox()).toEqual(before);
  await expect(page.locator("[data-connection]")).toHaveText("Disconnected");
  await expect(row(page, "hello")).toBeVisible();
  await page.getByRole("button", { name: "Update hello now" }).click();
  await expect(page.locator(".notice")).toContainText("was not triggered");

  lilt.write("Tiltfile", "local_resource('other', cmd='echo second session')\n");
  await lilt.up();
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(icon).toHaveAttribute("href", "/favicon.svg");
  await expect(row(page, "other")).toContainText("Up to date");
  await expect(row(page, "hello")).toHaveCount(0);

  await page.getByRole("link", { name: "All logs" }).click();
  await expect(page.getByRole("log")).toContainText("second session");
  await expect(page.getByRole("log")).not.toContainText("first session");
  expect(await page.evaluate(() => "sameDocument" in window)).toBe(true);
});

test("an ended session says goodbye", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toBeVisible();
  await lilt.kill("SIGTERM");
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
});
