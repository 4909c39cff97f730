/** Actions on several resources at once. */

import { expect, row, test } from "./lilt";

test("disables, enables, updates and switches selected resources together", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "server")).toContainText("Running");
  await expect(row(page, "broken")).toContainText("Update failed");
  const before = await row(page, "byhand").boundingBox();
  const bar = page.getByRole("group", { name: "With the selected resources" });
  // With a checkbox, with a shortcut, and as a whole group.
  await row(page, "hello").hover();
  await row(page, "hello").getByRole("checkbox", { name: "Select hello" }).check();
  await expect(bar).toContainText("1 selected");
  await row(page, "byhand").getByRole("link", { name: "byhand" }).focus();
  await page.keyboard.press("x");
  await expect(bar).toContainText("2 selected");
  await page.getByRole("checkbox", { name: "Select all of backend" }).check();
  await expect(bar).toContainText("3 selected");
  // The selection bar moves no row.
  expect(await row(page, "byhand").boundingBox()).toEqual(before);

  await bar.getByRole("button", { name: "Disable" }).click();
  for (const name of ["hello", "server", "byhand"]) await expect(row(page, name)).toContainText("Disabled");
  await expect(row(page, "broken")).not.toContainText("Disabled");
  await expect(bar.getByRole("button", { name: "Disable" })).toBeDisabled();
  await bar.getByRole("button", { name: "Enable" }).click();
  for (const name of ["hello", "server", "byhand"])
    await expect(row(page, name)).not.toContainText("Disabled");
  await bar.getByRole("button", { name: "Manual" }).click();
  for (const name of ["hello", "server", "byhand"])
    await expect(row(page, name).locator(".mode")).toHaveText("Manual");
  await page.keyboard.press("Escape");
  await expect(bar).toHaveCount(0);
  await page.getByRole("checkbox", { name: "Select all of backend" }).check();
  await bar.getByRole("button", { name: "Auto" }).click();
  await expect(row(page, "hello").locator(".mode")).toHaveText("Auto");
  await expect(row(page, "byhand").locator(".mode")).toHaveText("Manual");
  await bar.getByRole("button", { name: "Clear selection" }).click();
  await page.getByRole("checkbox", { name: "Select byhand" }).check();
  await bar.getByRole("button", { name: "Update now" }).click();
  await expect(row(page, "byhand")).toContainText("Up to date");
  expect(lilt.read("runs")).toBe("run\n");
});

test("collapses and expands all groups together", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toBeVisible();
  await page.getByRole("button", { name: "Close all" }).click();
  await expect(page.locator("tr[data-resource]")).toHaveCount(1);
  await page.getByRole("button", { name: "Open all" }).click();
  await expect(page.locator("tr[data-resource]")).toHaveCount(6);
});
