import { join } from "node:path";
import { violations } from "./axe";
import { Viewer } from "./viewer";
import { expect, row, test } from "./lilt";

test("a snapshot is saved, and shown again without its session", async ({ lilt, page, browser }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await expect(row(page, "broken")).toContainText("Update failed");
  await page.locator(".sessions summary").click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Save a snapshot" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("lilt-snapshot.json");
  const file = join(lilt.folder, "saved.json");
  await download.saveAs(file);
  await lilt.kill("SIGTERM");

  const viewer = await Viewer.start(lilt, file);
  const context = await browser.newContext();
  // It needs nothing from elsewhere.
  const strangers: string[] = [];
  await context.route(
    (url) => url.port !== String(viewer.port),
    (route) => {
      strangers.push(route.request().url());
      return route.abort();
    },
  );
  // Somebody looks at it hours later.
  await context.clock.install({ time: Date.now() + 5 * 60 * 60 * 1000 });
  const other = await context.newPage();
  await other.goto(viewer.link);
  await expect(row(other, "hello")).toContainText("Up to date");
  await expect(row(other, "hello").locator("time")).toHaveText(/^(just now|\d+ s ago)/);
  await expect(row(other, "broken")).toContainText("Update failed");
  await expect(other.locator("[data-connection]")).toContainText("Snapshot of");
  await expect(other.getByRole("button", { name: "Update hello now" })).toBeDisabled();
  await other.goto(`${viewer.address}/r/hello/overview`);
  await expect(other.getByRole("log")).toContainText("hello from the build");
  await other.getByRole("button", { name: "Why and when" }).click();
  await expect(other.getByRole("list", { name: "Updates, newest first" })).toContainText("Done");
  await other.getByRole("searchbox", { name: "Filter lines by text" }).fill("hello");
  await expect(other.locator(".match-count")).toContainText(/match/);
  expect(await violations(other, "a snapshot")).toEqual([]);
  expect(strangers).toEqual([]);
  await context.close();
  await viewer.end();
});
