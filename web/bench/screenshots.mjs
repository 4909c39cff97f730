/** Takes screenshots of the main views for visual checks: `node bench/screenshots.mjs FOLDER`. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser } from "./launchBrowser.mjs";
import { startSample } from "./testSessions.mjs";

const folder = process.argv[2] ?? "screenshots";
mkdirSync(folder, { recursive: true });
const browser = await launchBrowser();

for (const count of [3, 30, 1000]) {
  const session = await startSample(count, 2_000, false);
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 800, 420]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      const screenshot = (view) =>
        page.screenshot({ path: join(folder, `${view}-${count}-${colorScheme}-${width}.png`) });
      await page.goto(`${session.address}/overview`);
      await page.locator("tr[data-resource=api]").waitFor();
      await screenshot("overview");
      if (count !== 30) {
        await context.close();
        continue;
      }
      await page.goto(`${session.address}/r/(all)/overview`);
      await page.locator(".line").first().waitFor();
      await screenshot("logs");
      await page.goto(`${session.address}/r/(all)/overview?term=404&only=0`);
      await page.locator("mark").first().waitFor();
      await page.keyboard.press("N");
      await page.locator(".target").waitFor();
      await screenshot("search");
      await page.goto(`${session.address}/r/lint/overview`);
      await page.getByRole("button", { name: "Why and when" }).click();
      await screenshot("failed");
      await page.goto(`${session.address}/r/api/overview`);
      await page.locator(".line").first().waitFor();
      await screenshot("resource");
      await page.keyboard.press("Control+k");
      await screenshot("palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await screenshot("help");
      await context.close();
    }
  }
  if (count === 30) {
    const pages = [];
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1440, 800, 420]) {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
        const page = await context.newPage();
        await page.goto(`${session.address}/overview`);
        await page.locator("tr[data-resource=api]").waitFor();
        pages.push({ page, name: `disconnected-${colorScheme}-${width}` });
      }
    }
    await session.stop();
    for (const { page, name } of pages) {
      await page.getByRole("alert").waitFor();
      await page.screenshot({ path: join(folder, `${name}.png`) });
    }
  } else await session.stop();
}
await browser.close();
