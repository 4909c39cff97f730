import { expect, test } from "./lilt";

test("says why and when, with stages to scale", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/broken/overview`);
  await page.getByRole("button", { name: "Why and when" }).click();
  const updates = page.getByRole("list", { name: "Updates, newest first" }).locator("> li");
  await expect(updates.first()).toContainText("Failed");
  lilt.write("fixed", "mended\n");
  await expect(updates.first()).toContainText("Done");
  await expect(updates.first()).toContainText("fixed");
  const bars = updates.first().locator(".bar");
  await expect(bars.last()).toBeVisible();
  for (const bar of await bars.all()) {
    const [box, track] = [await bar.boundingBox(), await bar.locator("..").boundingBox()];
    expect(box && track && box.x >= track.x - 1 && box.x + box.width <= track.x + track.width + 4).toBe(true);
  }
  // The choice is remembered.
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("list", { name: "Updates, newest first" })).toBeVisible();
});

test("a resource that waits says for what in its panel", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/after/overview`);
  await page.getByRole("button", { name: "Why and when" }).click();
  await expect(page.locator(".hold-words")).toContainText("broken");
  await expect(page.locator("section.panel")).toContainText("It has not been updated yet.");
});
