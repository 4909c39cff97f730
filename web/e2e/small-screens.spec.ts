/** On small screens everything is available, in other places. */

import { violations } from "./axe";
import { expect, row, test } from "./lilt";

test.use({
  tiltfile: `
load('ext://uibutton', 'cmd_button', 'location')
local_resource('server', serve_cmd='echo serving; exec sleep 3600', labels=['backend'], links=['http://localhost:8123/docs'])
local_resource('byhand', cmd='echo ran', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
cmd_button('wipe', resource='server', text='Wipe', icon_name='delete', argv=['sh', '-c', 'echo wiped >> clicked'])
cmd_button('everywhere', location=location.NAV, text='Everywhere', argv=['sh', '-c', 'echo nav >> everywhere'])
local_resource('labelled', cmd='true', labels=['front'])
`,
});

for (const width of [800, 480]) {
  test(`shows and offers everything at ${width} pixels`, async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.setViewportSize({ width, height: 900 });
    const check = async (what: string) => {
      expect(await violations(page, what)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    };
    await page.goto(`${lilt.address}/`);
    const server = row(page, "server");
    // Both statuses, endpoints, buttons, and the chip of manual resources.
    await expect(server.getByText("No update")).toBeVisible();
    await expect(server.getByText("Running")).toBeVisible();
    await expect(server.getByRole("link", { name: "localhost:8123/docs" })).toBeVisible();
    await server.getByRole("button", { name: "Wipe" }).click();
    await expect.poll(() => lilt.read("clicked")).toBe("wiped\n");
    await expect(row(page, "byhand").locator(".manual-chip")).toBeVisible();
    await expect(server.locator(".manual-chip")).toHaveCount(0);
    await server.getByLabel("More for server").click();
    await server.getByRole("button", { name: "Switch to Manual" }).click();
    await expect(server.locator(".manual-chip")).toBeVisible();
    await check("overview");
    // The duration, the buttons of the navigation bar, and the buttons for all groups.
    await expect(row(page, "labelled").locator(".update-duration")).toBeVisible();
    await page.getByRole("banner").getByRole("button", { name: "Everywhere" }).click();
    await expect.poll(() => lilt.read("everywhere")).toBe("nav\n");
    await page.getByRole("button", { name: "Close all" }).click();
    await expect(row(page, "labelled")).toHaveCount(0);
    await page.getByRole("button", { name: "Open all" }).click();
    await page.locator(".sessions summary").click();
    await expect(page.getByRole("link", { name: "Save a snapshot" })).toBeInViewport({ ratio: 1 });
    await page.keyboard.press("Escape");

    await server.getByRole("link", { name: "server" }).first().click();
    await page.keyboard.press("w");
    await expect(page.getByRole("region", { name: "Why and when" })).toBeVisible();
    await check("panel");
    await page.keyboard.press("w");
    // Times can be switched on.
    const log = page.getByRole("log");
    await page.getByLabel("Times", { exact: true }).setChecked(false);
    await expect(log.locator(".time").last()).toHaveText(/^#/);
    await page.getByLabel("Times", { exact: true }).setChecked(true);
    await expect(log.locator(".time").last()).toHaveText(/^\d\d:\d\d:\d\d$/);
    await expect(log.locator(".time").last()).toHaveCSS("font-size", "12.5px");
    // The link to a line.
    await log.locator(".line .time").last().click();
    await expect(page.locator(".toast")).toContainText("Copied the link");
    // The other resources.
    const toggle = page.getByRole("button", { name: "Resources", exact: true });
    if (width < 680) await toggle.click();
    else await expect(toggle).toBeHidden();
    await page.getByRole("navigation", { name: "Resources" }).getByRole("link", { name: "byhand" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("byhand");
    if (width < 680) await expect(page.getByRole("navigation", { name: "Resources" })).toBeHidden();
    await check("resource");
    for (const name of ["Copy", "Clear"])
      await expect(page.getByRole("button", { name, exact: true })).toBeInViewport({ ratio: 1 });
  });
}
