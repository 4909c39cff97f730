import { AxeBuilder } from "@axe-core/playwright";
import { expect, row, test } from "./lilt";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test("is accessible", async ({ lilt, page }) => {
      await page.goto(`${lilt.address}/`);
      await expect(row(page, "broken")).toContainText("Update failed");
      for (const path of ["/overview", "/r/broken/overview", "/r/(all)/overview"]) {
        await page.goto(`${lilt.address}${path}`);
        await expect(page.locator("[data-connection=open]")).toBeVisible();
        await expect(page.locator("tr[data-resource], .line").first()).toBeVisible();
        const found = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21aa"]).analyze();
        const told = found.violations.map(({ id, nodes }) => `${path} ${id}: ${nodes[0]?.html}`);
        expect(told).toEqual([]);
      }
    });
  });
}

for (const width of [1440, 800, 480]) {
  test(`nothing runs over the edge at ${width} pixels`, async ({ lilt, page }) => {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/overview", "/r/broken/overview", "/r/(all)/overview"]) {
      await page.goto(`${lilt.address}${path}`);
      await expect(page.locator("[data-connection=open]")).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  });
}
