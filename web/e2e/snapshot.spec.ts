import { join } from "node:path";
import { violations } from "./axe";
import { SnapshotViewer } from "./snapshotViewer";
import { expect, row, test } from "./lilt";

test("saves a snapshot and shows it without the session", async ({ lilt, page, browser }) => {
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

  const viewer = await SnapshotViewer.start(lilt, file);
  const context = await browser.newContext();
  // The page loads nothing from other servers.
  const externalRequests: string[] = [];
  await context.route(
    (url) => url.port !== String(viewer.port),
    (route) => {
      externalRequests.push(route.request().url());
      return route.abort();
    },
  );
  // As if opened hours later.
  await context.clock.install({ time: Date.now() + 5 * 60 * 60 * 1000 });
  const snapshotPage = await context.newPage();
  await snapshotPage.goto(viewer.link);
  await expect(row(snapshotPage, "hello")).toContainText("Up to date");
  await expect(row(snapshotPage, "hello").locator("time")).toHaveText(/^(just now|\d+ s ago)/);
  await expect(row(snapshotPage, "broken")).toContainText("Update failed");
  await expect(snapshotPage.locator("[data-connection]")).toContainText("Snapshot of");
  await expect(snapshotPage.getByRole("button", { name: "Update hello now" })).toBeDisabled();
  await snapshotPage.goto(`${viewer.address}/r/hello/overview`);
  await expect(snapshotPage.getByRole("log")).toContainText("hello from the build");
  await snapshotPage.getByRole("button", { name: "Why and when" }).click();
  await expect(snapshotPage.getByRole("list", { name: "Updates, newest first" })).toContainText("Done");
  await snapshotPage.getByRole("searchbox", { name: "Filter lines by text" }).fill("hello");
  await expect(snapshotPage.locator(".match-count")).toContainText(/match/);
  expect(await violations(snapshotPage, "a snapshot")).toEqual([]);
  expect(externalRequests).toEqual([]);
  await context.close();
  await viewer.stop();
});
