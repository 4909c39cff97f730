import { expect, row, test } from "./lilt";

test("shows every resource with its two statuses in words", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await expect(row(page, "hello")).toContainText("Nothing to run");
  await expect(row(page, "server")).toContainText("Running");
  await expect(row(page, "broken")).toContainText("Update failed");
  await expect(row(page, "byhand")).toContainText("Not started");
  await expect(row(page, "(Tiltfile)")).toContainText("Up to date");
  await expect(page.getByRole("button", { name: "backend 2" })).toBeVisible();
  await expect(page.getByRole("button", { name: "checks 2" })).toBeVisible();
});

test("a resource that waits says for what", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/overview`);
  await expect(row(page, "after")).toContainText("Waiting");
  await expect(row(page, "after").locator(".message.hold")).toContainText("broken");
});

test("endpoints are links that leave nothing behind", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const link = row(page, "server").getByRole("link", { name: "localhost:8123/docs" });
  await expect(link).toHaveAttribute("href", "http://localhost:8123/docs");
  await expect(link).toHaveAttribute("rel", /noopener/);
});

test("a click triggers an update", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toContainText("Not started");
  await page.getByRole("button", { name: "Update byhand now" }).click();
  await expect(row(page, "byhand")).toContainText("Up to date");
  await row(page, "byhand").getByRole("link", { name: "byhand" }).click();
  await expect(page.getByRole("log")).toContainText("run number 1");
  await page.getByRole("button", { name: "Update byhand now" }).click();
  await expect(page.getByRole("log")).toContainText("run number 2");
});

test("a failing resource is told and recovers with the next save", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const failing = row(page, "broken");
  await expect(failing).toContainText("Update failed");
  await expect(failing.locator(".message.error")).not.toBeEmpty();
  await expect(page).toHaveTitle(/^✗1/);
  lilt.write("fixed", "mended\n");
  await expect(failing).toContainText("Up to date");
  await expect(row(page, "after")).toContainText("Up to date");
  await expect(page).not.toHaveTitle(/✗/);
});

test("filters by name and by state", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  await page.keyboard.press("/");
  await page.keyboard.type("SERV");
  await expect(page.locator("tr[data-resource]")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(page.locator("tr[data-resource]")).toHaveCount(6);
  await page.getByRole("button", { name: /1\s*Failing/ }).click();
  await expect(page.locator("tr[data-resource]")).toHaveCount(1);
  await expect(row(page, "broken")).toBeVisible();
});

test("a closed group stays closed after a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await page.getByRole("button", { name: "backend 2" }).click();
  await expect(row(page, "hello")).toHaveCount(0);
  await page.reload();
  await expect(row(page, "broken")).toBeVisible();
  await expect(row(page, "hello")).toHaveCount(0);
});

test("a changed Tiltfile changes the rows", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  lilt.write("Tiltfile", "local_resource('fresh', cmd='true')\n");
  await expect(row(page, "fresh")).toContainText("Up to date");
  await expect(row(page, "hello")).toHaveCount(0);
});

test("keys go through the rows", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "byhand")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(row(page, "hello").getByRole("link", { name: "hello" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/overview$/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
});
