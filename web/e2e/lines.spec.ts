/** What is shown of lines, and what leaves the page. */

import { expect, test } from "./lilt";

test.describe("lines", () => {
  test.use({
    tiltfile: `
local_resource('many', cmd='seq 1 6000 | sed "s/^/Line /"')
local_resource('wide', cmd='head -c 60000 /dev/zero | tr "\\\\0" w; printf "Needle in it"; head -c 3000 /dev/zero | tr "\\\\0" v; echo; echo "שלום!"')
local_resource('fails', cmd='exit 3')
warn('something to look at')
`,
  });

  test("expressions find capitals and small letters alike", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const search = page.getByRole("searchbox", { name: "Filter lines by text" });
    await search.fill("/^LINE 77$/");
    const log = page.getByRole("log");
    await expect(log.locator("mark")).toHaveText(["Line 77"]);
    await search.fill("/(?-i)^LINE 77$/");
    await expect(log).toContainText("No line matches.");
    await search.fill("/^[[:alpha:]]+ 78\\z/");
    await expect(log.locator("mark")).toHaveText(["Line 78"]);
    // Found, but not to be marked here.
    await search.fill("/(?x) ^ line \\s 79 $/");
    await expect(log.locator(".line")).toHaveCount(1);
    await expect(page.locator(".search-note")).toContainText("does not understand");
  });

  test("an expression that browsers choke on finds its lines, and the page goes on", async ({
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

  test("who reads older lines stays there when a filter changes", async ({ lilt, page }) => {
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
    // Who follows goes on following.
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
    let asked = () => {};
    const request = new Promise<void>((done) => (asked = done));
    let release = () => {};
    const released = new Promise<void>((done) => (release = done));
    await page.route("**/api/lines?from=0&*", async (route) => {
      asked();
      await released;
      await route.continue();
    });
    await page.getByRole("scrollbar").focus();
    await page.keyboard.press("Home");
    await request;
    // The lines at the end are still shown, and the browser reports an earlier scroll to them.
    await log.dispatchEvent("scroll");
    release();
    await expect(log.locator(".text", { hasText: /^Line 1$/ })).toBeVisible();
    await expect(log).toHaveAttribute("data-following", "false");
  });

  test("lines that do not come are missed where they are missing, and asked for again", async ({
    lilt,
    page,
  }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    let broken = true;
    await page.route("**/api/lines?before=*", (route) =>
      broken ? route.abort("connectionrefused") : route.continue(),
    );
    await log.evaluate((element) => (element.scrollTop = 0));
    const note = page.locator(".load-error");
    await expect(note).toContainText("Older lines did not come: no connection to lilt.");
    // What is read stays, and so does the place.
    const first = async () => Number(await log.getAttribute("data-first"));
    const [before, lines] = [await first(), Number(await log.getAttribute("data-lines"))];
    expect(before).toBeGreaterThan(5_000);
    await log.focus();
    await page.keyboard.press("Shift+Tab");
    await expect(page.getByRole("button", { name: "Try again" })).toBeFocused();
    broken = false;
    await page.keyboard.press("Enter");
    await expect(note).toHaveCount(0);
    await expect.poll(async () => Number(await log.getAttribute("data-lines"))).toBeGreaterThan(lines);
    await expect(log).toHaveAttribute("data-following", "false");
    expect(await first()).toBe(before);
  });

  test("a long line shows where the match is, and more if one wants", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/wide/overview?term=needle+in`);
    const log = page.getByRole("log");
    const wide = log.locator(".line", { hasText: "characters" });
    await expect(wide.locator("mark")).toHaveText("Needle in");
    await expect(wide.locator("mark")).toBeInViewport();
    await wide.getByRole("button", { name: "Show more" }).click();
    await expect(wide.getByRole("button", { name: "Show more" })).toHaveCount(0);
    // All of it, as wide as what can be seen.
    const box = await wide.locator(".text").boundingBox();
    expect(box?.height).toBeGreaterThan(1_000);
    expect(box?.width).toBeLessThan(1_280);
    expect((await wide.locator(".text").textContent())?.match(/v/g)).toHaveLength(3_000);
  });

  test("a line that is written from right to left is read so, and its neighbours are not", async ({
    lilt,
    page,
  }) => {
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

  test("warnings are shown with what is worse, and times tell the day", async ({ lilt, page }) => {
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

  test("what was cleared is neither copied nor downloaded", async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const asked: string[] = [];
    await page.route("**/api/logs?*", (route) => {
      asked.push(route.request().url());
      return route.fulfill({ body: "" });
    });
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("Line 6000");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]).not.toContain("from=");
    await page.getByRole("button", { name: "Clear" }).click();
    await expect(log).toContainText("Cleared");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await expect.poll(() => asked.length).toBe(2);
    expect(asked[1]).toMatch(/&from=6\d{3}\b/);
    await expect(page.getByRole("link", { name: "Download" })).toHaveAttribute("href", /&from=6\d{3}\b/);
  });
});

test("copies also where a browser has no clipboard for the page", async ({ lilt, page }) => {
  // As for pages of another machine, without encryption.
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
