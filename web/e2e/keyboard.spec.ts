/** Everything can be done by keyboard, including the contents of log lines. */

import { expect, row, test } from "./lilt";

test.describe("log", () => {
  test.use({
    tiltfile: `
local_resource('json', cmd="""printf '%s\\\\n' 'see http://localhost:1/there' '{"level":"error","msg":"broke","request":{"path":"/a"}}' plain""")
local_resource('fails', cmd='echo trying; exit 3')
`,
  });

  test("moves through lines, expands them, copies links and reaches URLs by keyboard", async ({
    lilt,
    page,
    context,
  }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${lilt.address}/r/json/overview`);
    const log = page.getByRole("log");
    const current = log.locator(".line.current");
    await expect(log).toContainText("plain");
    await page.keyboard.press("y");
    await expect(page.locator(".toast")).toContainText("No line is chosen");
    await page.keyboard.press("ArrowUp");
    await expect(current).toContainText("plain");
    // Announced by screen readers.
    await expect(page.locator(".log-frame [role=status]")).toHaveText("plain");
    await page.keyboard.press("ArrowUp");
    await expect(current).toContainText("broke");
    await page.keyboard.press("Enter");
    await expect(current.locator(".fields")).toContainText("request.path");
    // From the line's link and expand button to its fields.
    await page.keyboard.press("Tab");
    await expect(current.locator("a.time")).toBeFocused();
    for (let step = 0; step < 4; step++) await page.keyboard.press("Tab");
    await expect(current.getByRole("button", { name: "/a" })).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(log.locator(".line")).toHaveCount(1);
    await page.getByRole("button", { name: "No longer only lines with request.path=/a" }).press("Enter");
    await expect(log).toContainText("plain");

    await log.focus();
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await expect(current).toHaveCount(1);
    while (!(await current.textContent())?.includes("see http")) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("y");
    await expect(page.locator(".toast").last()).toContainText("Copied the link");
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
      `line=${await current.getAttribute("data-seq")}`,
    );
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await expect(current.getByRole("link", { name: "http://localhost:1/there" })).toBeFocused();
  });

  test("switches views, jumps to errors and matches, and changes display options by keyboard", async ({
    lilt,
    page,
  }) => {
    await page.goto(`${lilt.address}/`);
    await expect(row(page, "fails")).toContainText("Update failed");
    await page.keyboard.press("l");
    await expect(page).toHaveURL(/\/r\/\(all\)\/overview$/);
    const log = page.getByRole("log");
    await expect(log).toContainText("broke");
    await page.keyboard.press("E");
    await expect(log.locator(".target.error")).toContainText("exit");
    await page.keyboard.press("J");
    await expect(log.locator(".json-level")).toHaveCount(0);
    await page.keyboard.press("J");
    await expect(log.locator(".json-level")).toHaveCount(1);
    await page.keyboard.press("/");
    await page.keyboard.type("trying");
    await page.getByLabel("Only matches").uncheck();
    await page.keyboard.press("N");
    await expect(log.locator(".target mark").first()).toHaveText("trying");
    const at = await log.locator(".target").getAttribute("data-seq");
    await page.keyboard.press("N");
    await expect(log.locator(".target")).not.toHaveAttribute("data-seq", at ?? "");
    await page.keyboard.press("n");
    await expect(log.locator(".target")).toHaveAttribute("data-seq", at ?? "");
    await page.keyboard.press("Control+Backspace");
    await expect(log).toContainText("Cleared");
    await page.keyboard.press("Control+Backspace");
    await expect(log).toContainText("broke");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("json");
    await page.keyboard.press("s");
    await expect(page.getByRole("button", { name: "Star json" })).toHaveAttribute("aria-pressed", "true");
    await page.keyboard.press("w");
    await expect(page.getByRole("list", { name: "Updates, newest first" }).locator("> li")).toHaveCount(1);
    await page.keyboard.press("r");
    await expect(page.getByRole("list", { name: "Updates, newest first" }).locator("> li")).toHaveCount(2);
    await page.keyboard.press("o");
    await expect(page).toHaveURL(/\/overview$/);
  });
});

test("single-letter keys can be switched off, also after a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toBeVisible();
  await page.keyboard.press("?");
  await page.getByLabel("Keys of a single letter").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("l");
  await page.keyboard.press("?");
  await page.reload();
  await expect(row(page, "hello")).toBeVisible();
  await page.keyboard.press("l");
  await expect(page.locator("main.overview")).toBeVisible();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  // Other shortcuts still work, and the help can be opened without one.
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("dialog", { name: "Commands" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Keys and help" }).click();
  await page.getByLabel("Keys of a single letter").check();
  await page.keyboard.press("Escape");
  // The focus returns to where it was.
  await expect(page.getByRole("button", { name: "Keys and help" })).toBeFocused();
  await page.keyboard.press("l");
  await expect(page).toHaveURL(/\(all\)/);
});

test("closes menus on Escape and on a click elsewhere", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/(all)/overview`);
  for (const summary of [page.locator(".sessions summary"), page.locator(".log-toolbar summary")]) {
    const body = summary.locator("xpath=..").locator(".menu-body");
    await summary.click();
    await expect(body).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(body).toHaveCount(0);
    await expect(summary).toBeFocused();
    await summary.click();
    await page.getByRole("log").click();
    await expect(body).toHaveCount(0);
  }
  await expect(page).toHaveURL(/\(all\)/);
  // The names in the menu can be filtered.
  await page.locator(".log-toolbar summary").click();
  await page.getByRole("searchbox", { name: "Filter these resources by name" }).fill("serv");
  await expect(page.locator(".menu-body").getByRole("checkbox")).toHaveCount(1);
  await page.getByRole("checkbox", { name: "server" }).check();
  await expect(page.locator(".log-toolbar summary")).toHaveText("server");
});

test("opens endpoints with Shift and their number", async ({ lilt, page, context }) => {
  await page.goto(`${lilt.address}/r/server/overview`);
  await expect(page.getByRole("list", { name: "Endpoints" })).toBeVisible();
  await context.route("http://localhost:8123/**", (route) => route.fulfill({ body: "docs" }));
  const [opened] = await Promise.all([page.waitForEvent("popup"), page.keyboard.press("Shift+Digit1")]);
  expect(opened.url()).toContain("8123");
});

test("runs commands of all kinds in the command palette", async ({ lilt, page, context }) => {
  await context.route("http://localhost:8123/**", (route) => route.fulfill({ body: "docs" }));
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  const choose = async (text: string) => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("dialog", { name: "Commands" })).toHaveCount(0);
  };
  await choose("only failing");
  await expect(page).toHaveURL(/state=error/);
  await choose("show all resources");
  await expect(page.locator("tr[data-resource]")).toHaveCount(6);
  await choose("close all groups");
  await expect(row(page, "hello")).toHaveCount(0);
  await choose("open all groups");
  await expect(row(page, "hello")).toHaveCount(1);
  const [snapshot] = await Promise.all([page.waitForEvent("download"), choose("snapshot")]);
  expect(snapshot.suggestedFilename()).toBe("lilt-snapshot.json");
  await choose("other sessions");
  await expect(page.locator(".sessions .menu-body")).toBeVisible();
  await page.keyboard.press("Escape");
  const [docs] = await Promise.all([page.waitForEvent("popup"), choose("open of server")]);
  expect(docs.url()).toContain("8123");
  await choose("colours dark");
  await expect(page.locator("html")).toHaveCSS("color-scheme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveCSS("color-scheme", "dark");
  await page.keyboard.press("l");
  await expect(page.getByRole("log")).toContainText("serving");
  const [log] = await Promise.all([page.waitForEvent("download"), choose("download the log")]);
  expect(log.suggestedFilename()).toBe("all.log");
});

test("Escape clears the log's filter, then leaves the field", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("hello from the build");
  const box = page.getByRole("searchbox", { name: "Filter lines by text" });
  await box.fill("nothing has this");
  await expect(log).toContainText("No line matches.");
  await page.keyboard.press("Escape");
  await expect(box).toHaveValue("");
  await expect(box).toBeFocused();
  await expect(log).toContainText("hello from the build");
  await page.keyboard.press("Escape");
  await expect(box).not.toBeFocused();
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
});

test("Escape on log lines clears the filter before it opens the overview", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview?term=nothing&level=error`);
  const log = page.getByRole("log");
  await expect(log).toContainText("No line matches.");
  await log.focus();
  await page.keyboard.press("Escape");
  await expect(log).toContainText("hello from the build");
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
  await page.keyboard.press("Escape");
  await expect(page.locator("main.overview")).toBeVisible();
});
