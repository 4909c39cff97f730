/** Pictures of the main views, to be looked at by people: `node bench/pictures.mjs FOLDER`. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { start } from "./sample.mjs";

const folder = process.argv[2] ?? "pictures";
mkdirSync(folder, { recursive: true });
const browser = await launch();

for (const count of [3, 30, 1000]) {
  const session = await start(count, 2_000, false);
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 800, 420]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      const picture = (what) =>
        page.screenshot({ path: join(folder, `${what}-${count}-${colorScheme}-${width}.png`) });
      await page.goto(`${session.address}/overview`);
      await page.locator("tr[data-resource=api]").waitFor();
      await picture("overview");
      if (count !== 30) {
        await context.close();
        continue;
      }
      await page.goto(`${session.address}/r/(all)/overview`);
      await page.locator(".line").first().waitFor();
      await picture("logs");
      await page.goto(`${session.address}/r/(all)/overview?term=404&only=0`);
      await page.locator("mark").first().waitFor();
      await page.keyboard.press("N");
      await page.locator(".target").waitFor();
      await picture("search");
      await page.goto(`${session.address}/r/lint/overview`);
      await page.getByRole("button", { name: "Why and when" }).click();
      await picture("failed");
      await page.goto(`${session.address}/r/api/overview`);
      await page.locator(".line").first().waitFor();
      await picture("resource");
      await page.keyboard.press("Control+k");
      await picture("palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await picture("help");
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
    await session.end();
    for (const { page, name } of pages) {
      await page.getByRole("alert").waitFor();
      await page.screenshot({ path: join(folder, `${name}.png`) });
    }
  } else await session.end();
}
await browser.close();
