/** How log lines are displayed, copied and downloaded. */

import { expect, test } from "./lilt";

test.describe("log lines", () => {
  test.use({
    tiltfile: `
local_resource('many', cmd='seq 1 6000 | sed "s/^/Line /"')
local_resource('wide', cmd='head -c 60000 /dev/zero | tr "\\\\0" w; printf "Needle in it"; head -c 3000 /dev/zero | tr "\\\\0" v; echo; echo "שלום!"')
local_resource('fails', cmd='exit 3')
warn('something to look at')
`,
  });

  test("regular expressions ignore case by default", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const search = page.getByRole("searchbox", { name: "Filter lines by text" });
    await search.fill("/^LINE 77$/");
    const log = page.getByRole("log");
    await expect(log.locator("mark")).toHaveText(["Line 77"]);
    await search.fill("/(?-i)^LINE 77$/");
    await expect(log).toContainText("No line matches.");
    await search.fill("/^[[:alpha:]]+ 78\\z/");
    await expect(log.locator("mark")).toHaveText(["Line 78"]);
    // Found, but not highlighted in the browser.
    await search.fill("/(?x) ^ line \\s 79 $/");
    await expect(log.locator(".line")).toHaveCount(1);
    await expect(page.locator(".search-note")).toContainText("does not understand");
  });

  test("finds lines without highlights when an expression is too slow for the browser", async ({
    lilt,
    page,
  }) => {
    await page.goto(`${lilt.address}/r/wide/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("characters");
    await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("/(w+)+N/");
    await expect(log.locator(".line")).toHaveCount(1);
    await expect(page.locator(".search-note")).toContainText("not marked");
    await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("");
    await expect(page.locator(".search-note")).toHaveCount(0);
  });

  test("keeps the place in older lines when a filter changes", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    await page.getByRole("scrollbar").focus();
    await page.keyboard.press("Home");
    await expect(log.locator(".text", { hasText: /^Line 1$/ })).toBeVisible();
    await log.evaluate((element) => (element.scrollTop = 4_000));
    const first = async () => Number(await log.getAttribute("data-first"));
    await expect.poll(first).toBeGreaterThan(150);
    const before = await first();
    await page.getByLabel("Source", { exact: true }).selectOption("Build");
    await expect(page).toHaveURL(/source=build/);
    await expect.poll(first).toBe(before);
    await expect(log).toHaveAttribute("data-following", "false");
    // Following continues.
    await page.keyboard.press("f");
    await expect(log).toHaveAttribute("data-following", "true");
    await page.getByLabel("Source", { exact: true }).selectOption("Build and runtime");
    await expect(log).toContainText("Line 6000");
    await expect(log).toHaveAttribute("data-following", "true");
  });

  test("a late scroll event does not undo a jump to older lines", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    let onRequest = () => {};
    const request = new Promise<void>((done) => (onRequest = done));
    let release = () => {};
    const released = new Promise<void>((done) => (release = done));
    await page.route("**/api/lines?from=0&*", async (route) => {
      onRequest();
      await released;
      await route.continue();
    });
    await page.getByRole("scrollbar").focus();
    await page.keyboard.press("Home");
    await request;
    // The last lines are still shown, and the browser reports an earlier scroll event.
    await log.dispatchEvent("scroll");
    release();
    await expect(log.locator(".text", { hasText: /^Line 1$/ })).toBeVisible();
    await expect(log).toHaveAttribute("data-following", "false");
  });

  test("shows an error where lines failed to load, and retries", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    let isBlocked = true;
    await page.route("**/api/lines?before=*", (route) =>
      isBlocked ? route.abort("connectionrefused") : route.continue(),
    );
    await log.evaluate((element) => (element.scrollTop = 0));
    const note = page.locator(".load-error");
    await expect(note).toContainText("Older lines did not come: no connection to lilt.");
    // The lines stay, and so does the scroll position.
    const first = async () => Number(await log.getAttribute("data-first"));
    const [before, lines] = [await first(), Number(await log.getAttribute("data-lines"))];
    expect(before).toBeGreaterThan(5_000);
    await log.focus();
    await page.keyboard.press("Shift+Tab");
    await expect(page.getByRole("button", { name: "Try again" })).toBeFocused();
    isBlocked = false;
    await page.keyboard.press("Enter");
    await expect(note).toHaveCount(0);
    await expect.poll(async () => Number(await log.getAttribute("data-lines"))).toBeGreaterThan(lines);
    await expect(log).toHaveAttribute("data-following", "false");
    expect(await first()).toBe(before);
  });

  test("shows the match of a long line, and the rest on request", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/wide/overview?term=needle+in`);
    const log = page.getByRole("log");
    const wide = log.locator(".line", { hasText: "characters" });
    await expect(wide.locator("mark")).toHaveText("Needle in");
    await expect(wide.locator("mark")).toBeInViewport();
    await wide.getByRole("button", { name: "Show more" }).click();
    await expect(wide.getByRole("button", { name: "Show more" })).toHaveCount(0);
    // The whole line, as wide as the visible part of the log.
    const box = await wide.locator(".text").boundingBox();
    expect(box?.height).toBeGreaterThan(1_000);
    expect(box?.width).toBeLessThan(1_280);
    expect((await wide.locator(".text").textContent())?.match(/v/g)).toHaveLength(3_000);
  });

  test("renders right-to-left lines in their own direction", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/wide/overview`);
    const hebrew = page.getByRole("log").locator(".line .text", { hasText: /^שלום!$/ });
    await expect(hebrew).toBeVisible();
    const [letter, mark] = await hebrew.evaluate((element) => {
      const text = element.firstChild as Text;
      return [0, 4].map((at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      });
    });
    expect(mark).toBeLessThan(letter ?? 0);
  });

  test("filters by level, and shows the date in the tooltip of a time", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/(all)/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".line.error").first()).toBeVisible();
    await page.getByLabel("Level", { exact: true }).selectOption("Warnings and errors");
    await expect(log.locator(".line.warn")).toContainText("something to look at");
    await expect(log.locator(".line.error").first()).toBeVisible();
    await expect(log.locator(".line.info:not(:has-text('Build'))", { hasText: "Line" })).toHaveCount(0);
    await page.getByLabel("Level", { exact: true }).selectOption("Only warnings");
    await expect(log.locator(".line.error")).toHaveCount(0);
    await expect(log.locator(".line.warn")).toContainText("something to look at");
    await page.getByLabel("Level", { exact: true }).selectOption("Errors");
    await expect(log.locator(".line.warn")).toHaveCount(0);
    const year = String(new Date().getFullYear());
    const time = log.locator(".line .time").first();
    await time.hover();
    await expect(time).toHaveAttribute("title", new RegExp(`${year}.*\\.\\d{3}`));
  });

  test("does not copy or download cleared lines", async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const requestedUrls: string[] = [];
    await page.route("**/api/logs?*", (route) => {
      requestedUrls.push(route.request().url());
      return route.fulfill({ body: "" });
    });
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await expect.poll(() => requestedUrls.length).toBe(1);
    expect(requestedUrls[0]).not.toContain("from=");
    await page.getByRole("button", { name: "Clear" }).click();
    await expect(log).toContainText("Cleared");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await expect.poll(() => requestedUrls.length).toBe(2);
    expect(requestedUrls[1]).toMatch(/&from=6\d{3}\b/);
    await expect(page.getByRole("link", { name: "Download" })).toHaveAttribute("href", /&from=6\d{3}\b/);
  });
});

test("copies without access to the clipboard API", async ({ lilt, page }) => {
  // As on pages that are served without TLS from another machine.
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("hello from the build");
  await log.locator(".line .time").last().click();
  await expect(page.locator(".toast")).toContainText("Copied the link to this line");
  const search = page.getByRole("searchbox", { name: "Filter lines by text" });
  await search.focus();
  await page.keyboard.press("Control+v");
  await expect(search).toHaveValue(/^http.*line=\d+$/);
});

test.describe("copying", () => {
  test.use({
    tiltfile: `local_resource('json', cmd=['printf', '%s\\\\n', '{"msg":"hi","n":1}', 'plain text'])\n`,
  });

  test("copies selected lines as they were logged, one per row", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/json/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".structured")).toHaveCount(1);
    await expect(log).toContainText("plain text");
    const copied = await log.evaluate((element) => {
      const rows = [...element.querySelectorAll(".line")];
      const from = rows.find((line) => line.querySelector(".structured"));
      const until = rows.find((line) => line.querySelector(".text")?.textContent === "plain text");
      if (!from || !until) return "no such lines";
      document.getSelection()?.setBaseAndExtent(from, 0, until, until.childNodes.length);
      const event = new ClipboardEvent("copy", {
        clipboardData: new DataTransfer(),
        bubbles: true,
        cancelable: true,
      });
      from.dispatchEvent(event);
      return event.clipboardData?.getData("text/plain");
    });
    expect(copied).toBe('{"msg":"hi","n":1}\nplain text');
  });
});
