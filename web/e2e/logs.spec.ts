import { readFileSync } from "node:fs";
import { expect, row, test } from "./lilt";

test("shows only the log of the resource in the URL", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("hello from the build");
  await expect(log).not.toContainText("serving");
  // The escape sequences became a colour.
  await expect(log.locator(".f2", { hasText: /^hello$/ }).first()).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
  // Times can be switched off, and the choice is saved.
  await expect(log.locator(".time").first()).toHaveText(/^\d\d:\d\d:\d\d$/);
  await page.getByLabel("Times", { exact: true }).uncheck();
  await expect(log.locator(".time").first()).toHaveText(/^#/);
  await page.reload();
  await expect(log).toContainText("hello from the build");
  await expect(log.locator(".time").first()).toHaveText(/^#/);
  await page.keyboard.press("T");
  await expect(log.locator(".time").first()).toHaveText(/^\d\d:\d\d:\d\d$/);
});

test("keeps the chosen text size, and covers no lines", async ({ lilt, page }) => {
  await page.setViewportSize({ width: 1440, height: 300 });
  await page.goto(`${lilt.address}/r/(all)/overview`);
  const log = page.getByRole("log");
  const line = log.locator(".line", { hasText: "hello from the build" }).first();
  await expect(line).toHaveCSS("font-size", "12.5px");
  await page.keyboard.press("+");
  await expect(line).toHaveCSS("font-size", "14px");
  await page.reload();
  await expect(line).toHaveCSS("font-size", "14px");
  await page.keyboard.press("-");
  await page.keyboard.press("-");
  await expect(line).toHaveCSS("font-size", "11px");
  await page.getByLabel("Size of letters").selectOption("Largest letters");
  await expect(line).toHaveCSS("font-size", "16px");
  expect((await line.boundingBox())?.height).toBe(20);
  // The filters are in one row above the lines, and the follow button is below them.
  const tools = await page.locator(".log-toolbar").boundingBox();
  expect(tools?.height).toBeLessThan(60);
  await log.evaluate((element) => (element.scrollTop = 0));
  const [box, button] = [
    await log.boundingBox(),
    await page.getByRole("button", { name: "Follow" }).boundingBox(),
  ];
  expect(button?.y).toBeGreaterThanOrEqual((box?.y ?? 0) + (box?.height ?? 0));
});

test("shows resource names in the log of all resources, and searches it", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/(all)/overview`);
  const log = page.getByRole("log");
  await expect(log.locator(".line", { hasText: "serving" }).locator(".resource-name").first()).toHaveText(
    "server",
  );
  await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("SERVING");
  await expect(log.locator("mark").first()).toHaveText("serving");
  await expect(log).not.toContainText("hello from the build");
  await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("no such line anywhere");
  await expect(log).toContainText("No line matches.");
});

test("goes back and forward through the views", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await row(page, "hello").getByRole("link", { name: "hello" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
  await page.goBack();
  await expect(row(page, "hello")).toBeVisible();
  await page.goForward();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
});

test("says that a resource does not exist", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/nobody/overview`);
  await expect(page.getByRole("main")).toContainText("There is no resource of this name");
});

test.describe("many lines", () => {
  test.use({
    tiltfile: `
local_resource('many', cmd='seq 1 6000')
local_resource('ticking', serve_cmd='i=0; while true; do i=$((i+1)); echo "tick $i"; sleep 0.05; done')
local_resource('wide', cmd='head -c 900000 /dev/zero | tr "\\\\0" w; echo; echo "<img src=x onerror=alert(1)>"')
`,
  });

  test("are followed until the user scrolls up", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/ticking/overview`);
    const log = page.getByRole("log");
    await expect(log).toHaveAttribute("data-lines", /^\d{2,}$/);
    await expect(log).toHaveAttribute("data-following", "true");
    await expect(log.locator(".line", { hasText: "tick 60" })).toBeVisible();
    await log.evaluate((element) => (element.scrollTop = 0));
    await expect(page.getByRole("button", { name: "Follow" })).toBeVisible();
    const before = Number(await log.getAttribute("data-lines"));
    await expect.poll(async () => Number(await log.getAttribute("data-lines"))).toBeGreaterThan(before + 10);
    expect(await log.evaluate((element) => element.scrollTop)).toBe(0);
    await page.getByRole("button", { name: "Follow" }).click();
    await expect(log).toHaveAttribute("data-following", "true");
  });

  test("can all be reached while few are in the document", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".line", { hasText: /6000/ }).first()).toBeVisible();
    // Older lines are loaded when the user scrolls to the top.
    const first = log.locator(".text", { hasText: /^1$/ });
    await expect
      .poll(
        async () => {
          await log.evaluate((element) => (element.scrollTop = 0));
          return first.count();
        },
        { intervals: [30], timeout: 50_000 },
      )
      .toBe(1);
    expect(await log.locator(".line").count()).toBeLessThan(200);
  });

  test("a huge line and HTML markup are shown as text", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/wide/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("<img src=x onerror=alert(1)>");
    await expect(log).toContainText("900,000 characters");
    expect(await log.locator("img").count()).toBe(0);
  });
});

test.describe("long log", () => {
  test.use({
    tiltfile: `
local_resource('long', cmd='seq 1 100000 | sed "s/^/line /"; echo "the end http://localhost:1/x?y=z."')
local_resource('broken', cmd='echo trying; exit 3', resource_deps=['long'])
local_resource('worse', cmd='exit 4', resource_deps=['long'])
`,
  });

  test("can be scrolled from end to start while few lines are loaded", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/long/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("the end");
    await expect(log.getByRole("link", { name: "http://localhost:1/x?y=z" })).toHaveAttribute(
      "rel",
      /noopener/,
    );
    const scrollbar = page.getByRole("scrollbar");
    await scrollbar.focus();
    await page.keyboard.press("Home");
    await expect(log.locator(".text", { hasText: /^line 1$/ })).toBeVisible();
    await expect(log).toHaveAttribute("data-following", "false");
    // Jumps to the middle with the scrollbar.
    const box = await scrollbar.boundingBox();
    if (!box) throw new Error("the rail is not shown");
    await page.mouse.click(box.x + 5, box.y + box.height / 2);
    await expect(log.locator(".text", { hasText: /^line (4[5-9]|5[0-4])\d{3}$/ }).first()).toBeVisible();
    // Drags its thumb.
    const first = async () => Number(await log.getAttribute("data-first"));
    await page.mouse.down();
    await page.mouse.move(box.x + 5, box.y + box.height / 4, { steps: 4 });
    await expect.poll(first).toBeLessThan(30_000);
    await page.mouse.move(box.x + 5, box.y + (box.height * 3) / 4, { steps: 4 });
    await page.mouse.up();
    await expect.poll(first).toBeGreaterThan(70_000);
    // A released thumb does not move with the pointer.
    await page.mouse.move(box.x + 5, box.y + 5);
    await expect(log.locator(".text", { hasText: /^line 7\d{4}$/ }).first()).toBeVisible();
    // Scrolls further with the wheel, over several pages.
    const before = await first();
    await log.hover();
    for (let turn = 0; turn < 60; turn++) await page.mouse.wheel(0, -2_000);
    await expect.poll(first).toBeLessThan(before - 1_500);
    expect(Number(await log.getAttribute("data-lines"))).toBeLessThanOrEqual(4_000);
    expect(await log.locator(".line").count()).toBeLessThan(200);
    await page.keyboard.press("f");
    await expect(log).toContainText("the end");
    await expect(log).toHaveAttribute("data-following", "true");
  });

  test("is searched in full by the session", async ({ lilt, page, pageErrors }) => {
    await page.goto(`${lilt.address}/r/long/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("the end");
    const search = page.getByRole("searchbox", { name: "Filter lines by text" });
    await search.fill("/^line 1?7777$/");
    await expect(log.locator(".line")).toHaveCount(2);
    await expect(page).toHaveURL(/term=/);
    const count = page.locator(".match-count");
    await expect(count).toHaveText("2 matches");
    // Only highlighted, and visited one by one.
    await page.getByLabel("Only matches").uncheck();
    await expect(log).toContainText("the end");
    await search.press("Shift+Enter");
    await expect(log.locator(".target")).toContainText("line 17777");
    await search.press("Shift+Enter");
    await expect(log.locator(".target")).toContainText(/line 7777$/);
    await expect(log.locator(".target mark")).toHaveText("line 7777");
    await expect(count).toHaveText("1 of 2");
    await search.press("Enter");
    await expect(log.locator(".target")).toContainText("line 17777");
    await expect(count).toHaveText("2 of 2");
    // The error of an invalid expression is shown, also while lines without a match are visible.
    await search.fill("/(/");
    await expect(page.locator(".search-note")).toContainText("unclosed group");
    await expect(log).not.toContainText("regex parse error");
    await page.getByLabel("Only matches").check();
    await expect(page.locator(".search-note")).toHaveCount(0);
    await expect(log).toContainText("unclosed group");
    // The browser logs the refused requests.
    expect(pageErrors.filter((text) => !text.includes("400 (Bad Request)"))).toEqual([]);
    expect(pageErrors.length).toBeLessThan(8);
    pageErrors.length = 0;
  });

  test("jumps from error to error, and links to each line", async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${lilt.address}/r/(all)/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".line.error", { hasText: "exit" })).toHaveCount(2);
    await page.getByRole("button", { name: "↑ Error" }).click();
    const target = log.locator(".target.error");
    await expect(target).toBeVisible();
    await expect(page).toHaveURL(/line=\d+/);
    const seq = await target.getAttribute("data-seq");
    await page.getByRole("button", { name: "↑ Error" }).click();
    await expect(log.locator(".target")).not.toHaveAttribute("data-seq", seq ?? "");
    await page.getByRole("button", { name: "↓ Error" }).click();
    await expect(log.locator(".target")).toHaveAttribute("data-seq", seq ?? "");
    await page.reload();
    await expect(log.locator(".target")).toHaveAttribute("data-seq", seq ?? "");
    await log.locator(".line:not(.target) .time").first().click();
    await expect(page.locator(".toast")).toContainText("link to this line");
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
    // A link to another session says so, and does not point at an unrelated line.
    await page.goto(page.url().replace(/session=\w+/, "session=0123456789abcdef"));
    await expect(page.locator(".log-note")).toContainText("another session");
    await expect(log.locator(".target")).toHaveCount(0);
    await expect(log).toHaveAttribute("data-following", "true");
  });

  test("can be cleared, copied and downloaded", async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${lilt.address}/r/long/overview?term=line+1234`);
    const log = page.getByRole("log");
    await expect(log.locator(".line")).toHaveCount(11);
    await page.getByRole("button", { name: "Copy" }).click();
    await expect(page.locator(".toast")).toContainText("Copied 11 lines");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied.split("\n").slice(0, 2)).toEqual(["line 1234", "line 12340"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("long.log");
    const saved = readFileSync(await download.path(), "utf8")
      .trimEnd()
      .split("\n");
    expect(saved.filter((line) => line.includes("line 1234"))).toHaveLength(saved.length);
    expect(saved).toHaveLength(11);
    await page.getByRole("button", { name: "Clear" }).click();
    await expect(log.locator(".line")).toHaveCount(0);
    await page.getByRole("button", { name: "Show cleared" }).click();
    await expect(log.locator(".line")).toHaveCount(11);
  });
});

test.describe("structured lines", () => {
  test.use({
    tiltfile: `
local_resource('json', cmd="""printf '%s\\\\n' '{"level":"info","msg":"started","port":80}' '{"level":"error","msg":"broke <b>down</b>","request":{"path":"/a"}}' plain""")
local_resource('other', cmd='echo other')
local_resource('third', cmd='echo third')
`,
  });

  test("are shown as fields that can be filtered by", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/json/overview`);
    const log = page.getByRole("log");
    const broken = log.locator(".line", { hasText: "broke <b>down</b>" });
    await expect(broken.locator(".json-level")).toHaveText("error");
    await expect(broken.locator(".field")).toHaveText("request.path=/a");
    await broken.getByRole("button", { name: "Fields of this line" }).click();
    await broken.getByRole("button", { name: "/a" }).click();
    await expect(log.locator(".line")).toHaveCount(1);
    await page.reload();
    await expect(log.locator(".line")).toHaveCount(1);
    await page.getByRole("button", { name: "No longer only lines with request.path=/a" }).click();
    await expect(log).toContainText("plain");
    await page.getByLabel("JSON", { exact: true }).uncheck();
    await expect(log).toContainText('{"level":"info","msg":"started","port":80}');
  });

  test("shows the logs of several chosen resources together", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/(all)/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("third");
    await page.locator("summary", { hasText: "All resources" }).click();
    await page.getByRole("checkbox", { name: "other" }).check();
    await page.getByRole("checkbox", { name: "third" }).check();
    await expect(page.locator(".log-toolbar summary")).toHaveText("2 resources");
    await expect(log).not.toContainText("started");
    await expect(log.locator(".resource-name", { hasText: "other" }).first()).toBeVisible();
    await expect(log.locator(".resource-name", { hasText: "third" }).first()).toBeVisible();
    await expect(page).toHaveURL(/r=other&r=third/);
  });

  test("wraps long lines when chosen", async ({ lilt, page }) => {
    await page.setViewportSize({ width: 700, height: 600 });
    lilt.write("Tiltfile", `local_resource('wide', cmd='seq -s " " 1 400; echo after')`);
    await page.goto(`${lilt.address}/r/wide/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("after");
    const wide = log.locator(".line", { hasText: "1 2 3 4" }).first();
    expect((await wide.boundingBox())?.height).toBe(20);
    await page.keyboard.press("W");
    await expect.poll(async () => (await wide.boundingBox())?.height).toBeGreaterThan(60);
    const after = log.locator(".line", { hasText: /after$/ }).last();
    // Rows do not overlap.
    const [firstBox, secondBox] = [await wide.boundingBox(), await after.boundingBox()];
    expect((firstBox?.y ?? 0) + (firstBox?.height ?? 0)).toBeLessThanOrEqual((secondBox?.y ?? 0) + 1);
  });
});

test.describe("more than ten thousand lines a second", () => {
  test.use({
    tiltfile: `
local_resource('flood', serve_cmd='while true; do seq 1 4000; sleep 0.1; done')
local_resource('odd 🎉', cmd='echo "🎉 שלום عالم"')
`,
  });

  test("are followed within the memory limit while the page stays responsive", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/flood/overview`);
    const log = page.getByRole("log");
    await expect(log).toHaveAttribute("data-following", "true");
    const first = async () => Number(await log.getAttribute("data-first"));
    const linesPerSecond = async () => {
      const [lines, startedAt] = [await first(), performance.now()];
      await expect.poll(first).toBeGreaterThan(lines + 5_000);
      return ((await first()) - lines) / ((performance.now() - startedAt) / 1_000);
    };
    await expect.poll(linesPerSecond).toBeGreaterThan(10_000);
    expect(Number(await log.getAttribute("data-lines"))).toBeLessThanOrEqual(4_000);
    // From the click to the result, measured by the page itself.
    const took = await page.evaluate(async () => {
      const link = [...document.querySelectorAll<HTMLAnchorElement>(".sidebar a")].find((it) =>
        it.textContent?.startsWith("odd"),
      );
      const began = performance.now();
      await new Promise((done) => setTimeout(done, 0));
      link?.click();
      while (document.querySelector("h1")?.textContent !== "odd 🎉") await new Promise(requestAnimationFrame);
      return performance.now() - began;
    });
    expect(took).toBeLessThan(1_000);
    await expect(log).toContainText("🎉 שלום عالم");
    await expect(page.locator("[data-connection=open]")).toBeVisible();
  });
});
