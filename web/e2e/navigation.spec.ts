/** What views and URLs keep when the user switches between them, comes back, or shares a link. */

import { expect, row, test } from "./lilt";

const scrollTopOf = (element: Element) => element.scrollTop;

test.describe("with sixty resources", () => {
  test.use({
    tiltfile: `
for i in range(60):
  local_resource('r' + ('0' if i < 10 else '') + str(i), cmd='echo this is %d' % i, auto_init=False, labels=['low' if i < 30 else 'high'])
`,
  });

  test("the sidebar keeps its scroll position and shows the current resource", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/r00/overview`);
    const list = page.getByRole("navigation", { name: "Resources" });
    const scroller = list.locator(".sidebar-scroll");
    const item = (name: string) => list.getByRole("link", { name });
    await expect(item("r29")).toHaveCount(1);
    await page.evaluate(() => {
      Object.assign(window, { list: document.querySelector(".sidebar") });
    });
    await item("r29").scrollIntoViewIfNeeded();
    const before = await scroller.evaluate(scrollTopOf);
    expect(before).toBeGreaterThan(100);
    await item("r29").click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("r29");
    expect(await scroller.evaluate(scrollTopOf)).toBe(before);
    // The element is still the same.
    expect(await page.evaluate(() => document.querySelector(".sidebar") === (window as any).list)).toBe(true);
    // Shortcuts and URLs scroll the sidebar to the current resource.
    for (let step = 0; step < 12; step++) await page.keyboard.press("k");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("r17");
    await expect(item("r17")).toHaveAttribute("aria-current", "page");
    await expect(item("r17")).toBeInViewport();
    await page.goto(`${lilt.address}/r/r28/overview`);
    await expect(item("r28")).toBeInViewport({ ratio: 1 });
  });

  test("the sidebar is filtered, has collapsible groups, and lists starred resources first", async ({
    lilt,
    page,
  }) => {
    await page.goto(`${lilt.address}/r/r31/overview`);
    const list = page.getByRole("navigation", { name: "Resources" });
    const names = () => list.locator("[data-name]").evaluateAll((all) => all.map((it) => it.dataset["name"]));
    await expect(list.locator("[data-name]")).toHaveCount(61);
    await page.getByRole("button", { name: "Star r31" }).click();
    await expect.poll(async () => (await names())[0]).toBe("r31");
    await list.getByRole("button", { name: "high" }).click();
    await expect.poll(async () => (await names()).filter((name) => name === "r40")).toEqual([]);
    await list.getByRole("searchbox").fill("R4");
    await expect.poll(names).toEqual(["r40", "r41", "r42", "r43", "r44", "r45", "r46", "r47", "r48", "r49"]);
    await page.keyboard.press("Enter");
    await page.keyboard.press("j");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("r40");
    // The overview has the same filter.
    await page.keyboard.press("Escape");
    await expect(page.locator("tr[data-resource]")).toHaveCount(10);
    await expect(page).toHaveURL(/\?filter=R4$/);
  });

  test("the overview restores scroll position and focus", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    await row(page, "r20").scrollIntoViewIfNeeded();
    const overview = page.locator("main.overview");
    const before = await overview.evaluate(scrollTopOf);
    expect(before).toBeGreaterThan(300);
    await row(page, "r20").getByRole("link", { name: "r20" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("r20");
    await page.goBack();
    await expect(row(page, "r20")).toBeVisible();
    expect(await overview.evaluate(scrollTopOf)).toBe(before);
    await page.keyboard.press("j");
    await expect(row(page, "r21").getByRole("link", { name: "r21" })).toBeFocused();
    await page.keyboard.press("Enter");
    // Also after moving on to another resource.
    for (let step = 0; step < 20; step++) await page.keyboard.press("k");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("r01");
    await page.keyboard.press("Escape");
    await expect(row(page, "r01").getByRole("link", { name: "r01" })).toBeFocused();
    await expect(row(page, "r01")).toBeInViewport();
  });

  test("the URL contains filters, order and panel", async ({ lilt, page, context }) => {
    await page.goto(`${lilt.address}/`);
    await page.getByRole("searchbox").fill("r1");
    await page.getByLabel("Sort", { exact: true }).selectOption("By name");
    await page.getByRole("button", { name: "Resource", exact: true }).click();
    await page.getByRole("button", { name: /Not started/ }).click();
    await expect(page).toHaveURL(/\/overview\?filter=r1&state=idle&sort=-name$/);
    const other = await context.newPage();
    await other.goto(page.url());
    await expect(other.locator("tr[data-resource]")).toHaveCount(10);
    await expect(other.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "r19");
    // Back and forward restore the filters.
    await row(other, "r19").getByRole("link", { name: "r19" }).click();
    await other.keyboard.press("w");
    await expect(other).toHaveURL(/\/r\/r19\/overview\?panel=why$/);
    await other.goBack();
    await expect(other.locator("tr[data-resource]")).toHaveCount(10);
    await expect(other.getByRole("searchbox")).toHaveValue("r1");
    await other.close();
    // The link opens the panel, also for a user who closed it last.
    await page.goto(`${lilt.address}/r/r02/overview?panel=why`);
    await expect(page.getByRole("region", { name: "Why and when" })).toBeVisible();
    await expect(page).toHaveTitle(/^r02 · lilt-e2e.* · lilt$/);
    await page.keyboard.press("l");
    await expect(page).toHaveTitle(/^All logs · /);
  });
});

test("sorts by time and duration of the last update", async ({ lilt, page }) => {
  lilt.write(
    "Tiltfile",
    "local_resource('slow', cmd='sleep 1.2')\nlocal_resource('never', cmd='true', auto_init=False)\nlocal_resource('quick', cmd='true')\n",
  );
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "slow")).toContainText("Up to date");
  await expect(row(page, "quick")).toContainText("Up to date");
  // Time and duration of the last update.
  await expect(row(page, "slow").locator(".update-duration")).toHaveText(/^ · 1\.\d s$/);
  await expect(row(page, "quick").locator("time")).toHaveText(/^(just now|\d+ s ago) · \d+ ms$/);
  const names = () =>
    page
      .locator("tr[data-resource]:not([data-resource='(Tiltfile)'])")
      .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset["resource"]));
  await page.getByLabel("Sort", { exact: true }).selectOption("By duration");
  await expect.poll(names).toEqual(["slow", "quick", "never"]);
  await page.getByRole("button", { name: "Update quick now" }).click();
  await expect(row(page, "quick").locator("time")).toContainText("just now");
  await page.getByLabel("Sort", { exact: true }).selectOption("By last updated");
  await expect.poll(names).toEqual(["quick", "slow", "never"]);
});
