/** Of many rows only those near what is in sight are drawn whole, and nobody notices. */

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

test("all rows are there, and those in sight are whole", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  const rows = page.locator("tr[data-resource]");
  await expect(rows).toHaveCount(COUNT + 1);
  await expect(row(page, "r0").getByRole("button", { name: "Update r0 now" })).toBeVisible();
  // The browser's own search finds the others, and those who listen hear how they are.
  await expect(row(page, last)).toHaveText(`${last}Not started, Nothing to run`);
  expect(await page.locator("tr.far").count()).toBeGreaterThan(COUNT / 2);
  await page.locator("main.overview").evaluate((main) => main.scrollTo(0, main.scrollHeight));
  await expect(row(page, last).getByRole("button", { name: `Update ${last} now` })).toBeVisible();
  await expect(row(page, "r0")).toHaveClass(/\bfar\b/);
  // What is done there is seen there.
  await row(page, last)
    .getByRole("button", { name: `Update ${last} now` })
    .click();
  await expect(row(page, last)).toContainText("Up to date");
});

test("keys lead to rows out of sight, and to their buttons", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, last)).toHaveCount(1);
  await page.keyboard.press("k");
  await expect(row(page, last).getByRole("link", { name: last, exact: true })).toBeFocused();
  await expect(row(page, last)).toBeInViewport();
  await expect(row(page, last).locator(".mode")).toHaveText("Manual");
  await page.keyboard.press("s");
  // Also among the starred ones, out of sight.
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

test("nothing jumps, and what is in use stays as it is", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, last)).toHaveCount(1);
  const overview = page.locator("main.overview");
  const place = (name: string) =>
    overview.evaluate(
      (main, wanted) =>
        main.scrollTop +
        (main.querySelector(`tr[data-resource="${wanted}"]`)?.getBoundingClientRect().top ?? NaN),
      name,
    );
  await row(page, "r2").locator("summary").click();
  await expect(row(page, "r2").locator(".menu-body")).toBeVisible();
  // Page by page to the end and back, also over rows that are higher than others.
  const by = async (pixels: number) => {
    await overview.evaluate((main, far) => main.scrollBy(0, far), pixels);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  };
  for (let turn = 0; turn < 4; turn++) await by(600);
  const seen = await place("r40");
  for (let turn = 0; turn < 8; turn++) await by(600);
  await expect(row(page, "r30")).toHaveClass(/\bfar\b/);
  await expect(row(page, "r2").locator(".menu-body")).toHaveCount(1);
  expect(await place("r40")).toBe(seen);
  for (let turn = 0; turn < 8; turn++) await by(-600);
  expect(await place("r40")).toBe(seen);
});

test("a log beside many resources shows those in sight whole, too", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/${last}/overview`);
  const list = page.getByRole("navigation", { name: "Resources" });
  const item = list.getByRole("link", { name: `${last} Not started` });
  await expect(item).toBeInViewport();
  await expect(item.locator(".status-icon")).toHaveCount(2);
  await expect(list.getByRole("link", { name: "r0 Not started" }).locator(".status-icon")).toHaveCount(0);
  await list.locator(".sidebar-scroll").evaluate((scroller) => scroller.scrollTo(0, 0));
  await expect(list.getByRole("link", { name: "r0 Not started" }).locator(".status-icon")).toHaveCount(2);
});
