/** Only rows near the viewport are rendered in full, which users must not notice. */

import { expect, row, test } from "./lilt";

const COUNT = 200;

test.use({
  tiltfile: `
for i in range(${COUNT}):
  links = ['http://localhost:%d/' % (9000 + j) for j in range(i % 5)]
  local_resource('r%d' % i, cmd='echo this is %d' % i, auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL, links=links)
`,
});

const last = `r${COUNT - 1}`;

test("has all rows in the document, and renders visible ones in full", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const rows = page.locator("tr[data-resource]");
  await expect(rows).toHaveCount(COUNT + 1);
  await expect(row(page, "r0").getByRole("button", { name: "Update r0 now" })).toBeVisible();
  // The browser's page search and screen readers find the other rows.
  await expect(row(page, last)).toHaveText(`${last}Not started, Nothing to run`);
  expect(await page.locator("tr.far").count()).toBeGreaterThan(COUNT / 2);
  await page.locator("main.overview").evaluate((main) => main.scrollTo(0, main.scrollHeight));
  await expect(row(page, last).getByRole("button", { name: `Update ${last} now` })).toBeVisible();
  await expect(row(page, "r0")).toHaveClass(/\bfar\b/);
  // Actions work and show their result in rows that were outside the viewport.
  await row(page, last)
    .getByRole("button", { name: `Update ${last} now` })
    .click();
  await expect(row(page, last)).toContainText("Up to date");
});

test("reaches rows outside the viewport and their buttons by keyboard", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, last)).toHaveCount(1);
  await page.keyboard.press("k");
  await expect(row(page, last).getByRole("link", { name: last, exact: true })).toBeFocused();
  await expect(row(page, last)).toBeInViewport();
  await expect(row(page, last).locator(".mode")).toHaveText("Manual");
  await page.keyboard.press("s");
  // Also in the group of starred resources, outside the viewport.
  await expect(row(page, last)).toHaveCount(2);
  await expect(
    row(page, last)
      .last()
      .getByRole("button", { name: `Star ${last}` }),
  ).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("s");
  await expect(row(page, last)).toHaveCount(1);
  await page.keyboard.press("Tab");
  await expect(row(page, last).locator(":focus")).toHaveCount(1);
});

test("keeps positions and open menus while scrolling", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, last)).toHaveCount(1);
  const overview = page.locator("main.overview");
  const positionOf = (name: string) =>
    overview.evaluate(
      (main, resource) =>
        main.scrollTop +
        (main.querySelector(`tr[data-resource="${resource}"]`)?.getBoundingClientRect().top ?? NaN),
      name,
    );
  await row(page, "r2").locator("summary").click();
  await expect(row(page, "r2").locator(".menu-body")).toBeVisible();
  // Page by page to the end and back, also over rows that are higher than others.
  const scrollBy = async (pixels: number) => {
    await overview.evaluate((main, far) => main.scrollBy(0, far), pixels);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  };
  for (let step = 0; step < 4; step++) await scrollBy(600);
  const position = await positionOf("r40");
  for (let turn = 0; turn < 8; turn++) await scrollBy(600);
  await expect(row(page, "r30")).toHaveClass(/\bfar\b/);
  await expect(row(page, "r2").locator(".menu-body")).toHaveCount(1);
  expect(await positionOf("r40")).toBe(position);
  for (let turn = 0; turn < 8; turn++) await scrollBy(-600);
  expect(await positionOf("r40")).toBe(position);
});

test("renders visible items of the sidebar in full", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/${last}/overview`);
  const list = page.getByRole("navigation", { name: "Resources" });
  const item = list.getByRole("link", { name: `${last} Not started` });
  await expect(item).toBeInViewport();
  await expect(item.locator(".status-icon")).toHaveCount(2);
  await expect(list.getByRole("link", { name: "r0 Not started" }).locator(".status-icon")).toHaveCount(0);
  await list.locator(".sidebar-scroll").evaluate((scroller) => scroller.scrollTo(0, 0));
  await expect(list.getByRole("link", { name: "r0 Not started" }).locator(".status-icon")).toHaveCount(2);
});
