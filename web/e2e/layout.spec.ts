import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { violations } from "./axe";
import { expect, row, test } from "./lilt";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test("passes the accessibility checks", async ({ lilt, page }) => {
      // Checking every element of seven views takes a while.
      test.setTimeout(300_000);
      await page.goto(`${lilt.address}/`);
      await expect(row(page, "broken")).toContainText("Update failed");
      const check = async (what: string) => {
        // An open menu covers some of the elements below it.
        const disabledRules = what === "menu" ? ["target-size"] : [];
        expect(await violations(page, what, { colorsOnly: colorScheme === "dark", disabledRules })).toEqual(
          [],
        );
      };
      for (const path of ["/overview", "/r/broken/overview", "/r/(all)/overview?term=e"]) {
        await page.goto(`${lilt.address}${path}`);
        await expect(page.locator("[data-connection=open]")).toBeVisible();
        await expect(page.locator("tr[data-resource], .line").first()).toBeVisible();
        await check(path);
      }
      await page.goto(`${lilt.address}/r/broken/overview`);
      await page.getByRole("button", { name: "Why and when" }).click();
      await expect(page.getByRole("list", { name: "Updates, newest first" })).toBeVisible();
      await check("why and when");
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("dialog", { name: "Commands" })).toBeVisible();
      await check("palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
      await check("help");
      await page.goto(`${lilt.address}/overview`);
      await page.getByLabel("More for hello").click();
      await check("menu");
      await row(page, "hello").getByRole("button", { name: "Disable" }).click();
      await expect(row(page, "hello")).toContainText("Disabled");
      await page.getByLabel("Select hello").check();
      await page.getByLabel("Select server").check();
      await expect(page.getByRole("group", { name: "With the selected resources" })).toBeVisible();
      await check("disabled and selected");
      await page.keyboard.press("Escape");
      await lilt.kill("SIGTERM");
      await expect(page.getByRole("alert")).toBeVisible();
      await check("lost connection");
    });
  });
}

for (const width of [1440, 800, 480]) {
  test(`fits a window of ${width} pixels`, async ({ lilt, page }) => {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/overview", "/r/broken/overview", "/r/(all)/overview"]) {
      await page.goto(`${lilt.address}${path}`);
      await expect(page.locator("[data-connection=open]")).toBeVisible();
      await expect(page.locator("tr[data-resource], .line").first()).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  });
}

test("nothing moves while resources change", async ({ lilt, page }) => {
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  await expect(row(page, "server")).toContainText("Running");
  // Counts layout shifts from here on.
  await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts.splice(0));
  lilt.write("fixed", "mended\n");
  await expect(row(page, "broken")).toContainText("Up to date");
  await expect(row(page, "after")).toContainText("Up to date");
  lilt.write("Tiltfile", `${lilt.read("Tiltfile")}\nfail('no')\n`);
  await expect(row(page, "(Tiltfile)")).toContainText("Update failed");
  const moved = await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
  expect(moved.reduce((sum, value) => sum + value, 0)).toBeLessThan(0.0005);
});

test("the scripts stay below 100 kB", () => {
  const assets = join(import.meta.dirname, "../dist/assets");
  const scripts = readdirSync(assets).filter((name) => name.endsWith(".js.gz"));
  expect(scripts.length).toBeGreaterThan(0);
  expect(scripts.reduce((sum, name) => sum + statSync(join(assets, name)).size, 0)).toBeLessThan(100_000);
});
