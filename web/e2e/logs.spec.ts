import { expect, row, test } from "./lilt";

test("a resource's address shows its log and nobody else's", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("hello from the build");
  await expect(log).not.toContainText("serving");
  // The escape sequences have become a colour.
  await expect(log.locator(".f2", { hasText: /^hello$/ }).first()).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
});

test("all logs say whose they are, and can be searched", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/(all)/overview`);
  const log = page.getByRole("log");
  await expect(log.locator(".line", { hasText: "serving" }).locator(".who").first()).toHaveText("server");
  await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("SERVING");
  await expect(log.locator("mark").first()).toHaveText("serving");
  await expect(log).not.toContainText("hello from the build");
  await page.getByRole("searchbox", { name: "Filter lines by text" }).fill("no such line anywhere");
  await expect(log).toContainText("No line matches.");
});

test("back and forward go through the views", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await row(page, "hello").getByRole("link", { name: "hello" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
  await page.goBack();
  await expect(row(page, "hello")).toBeVisible();
  await page.goForward();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hello");
});

test("an address of a resource that is not there says so", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/nobody/overview`);
  await expect(page.getByRole("main")).toContainText("There is no resource of this name");
});

test.describe("many lines", () => {
  test.use({
    tiltfile: `
local_resource('many', cmd='seq 1 12000')
local_resource('ticking', serve_cmd='i=0; while true; do i=$((i+1)); echo "tick $i"; sleep 0.05; done')
local_resource('wide', cmd='head -c 900000 /dev/zero | tr "\\\\0" w; echo; echo "<img src=x onerror=alert(1)>"')
`,
  });

  test("are followed, and left in peace when one scrolls up", async ({ lilt, page }) => {
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

  test("are all reachable, and few of them are in the document", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/many/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".line", { hasText: /12000/ }).first()).toBeVisible();
    // Older lines are fetched when one scrolls to the top.
    await expect(async () => {
      await log.evaluate((element) => (element.scrollTop = 0));
      await expect(log.locator(".text", { hasText: /^1$/ })).toBeVisible({ timeout: 500 });
    }).toPass();
    expect(await log.locator(".line").count()).toBeLessThan(200);
  });

  test("a huge line and markup are text", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/wide/overview`);
    const log = page.getByRole("log");
    await expect(log).toContainText("<img src=x onerror=alert(1)>");
    await expect(log).toContainText("900,000 characters");
    expect(await log.locator("img").count()).toBe(0);
  });
});
