import { expect, test } from "./lilt";

test("shows the updates of a resource with stages to scale", async ({ lilt, page }) => {
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
  // The choice is saved.
  await page.goto(`${lilt.address}/r/hello/overview`);
  await expect(page.getByRole("list", { name: "Updates, newest first" })).toBeVisible();
});

test("shows in the panel what a waiting resource waits for", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/after/overview`);
  await page.getByRole("button", { name: "Why and when" }).click();
  await expect(page.locator(".hold-reason")).toContainText("broken");
  await expect(page.locator("section.panel")).toContainText("It has not been updated yet.");
});

test.describe("update history", () => {
  test.use({ tiltfile: "local_resource('slow', cmd='sleep 1; echo done', auto_init=False)\n" });

  test("draws stages to scale, and shows older updates on request", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/slow/overview?panel=why`);
    const updates = page.getByRole("list", { name: "Updates, newest first" }).locator("> li");
    const button = page.locator(".resource-header .trigger");
    for (let count = 1; count <= 6; count++) {
      await button.click();
      await expect(page.getByText("It waits for nothing.")).toBeVisible();
      await expect(updates.first()).toContainText("Done");
      await expect.poll(() => lilt.output.match(/│ done/g)?.length).toBe(count);
    }
    await expect(updates).toHaveCount(5);
    await page.getByRole("button", { name: "All 6 updates" }).click();
    await expect(updates).toHaveCount(6);
    await page.getByRole("button", { name: "Fewer" }).click();
    await expect(updates).toHaveCount(5);
    // The bar of the one-second stage takes the same part of the track.
    const newest = updates.first();
    const heading = await newest.locator(".update-head").textContent();
    const seconds = Number(/· ([\d.]+) s$/.exec(heading ?? "")?.[1]);
    const stage = newest.locator("li", { has: page.locator(".bar.run") });
    const took = Number(/^([\d.]+) s$/.exec((await stage.locator(".stage-time").textContent()) ?? "")?.[1]);
    const [bar, track] = [
      await stage.locator(".bar").boundingBox(),
      await stage.locator(".track").boundingBox(),
    ];
    expect((bar?.width ?? 0) / (track?.width ?? 1)).toBeCloseTo(took / seconds, 1);
    expect(took).toBeGreaterThanOrEqual(1);
  });
});
