/** The header of a resource above its log, and the sidebar beside it. */

import { expect, row, test } from "./lilt";

test.describe("resource header", () => {
  test.use({
    tiltfile: `
load('ext://uibutton', 'cmd_button')
local_resource('app', cmd='cat input', deps=['input'])
cmd_button('wipe', resource='app', text='Wipe', argv=['sh', '-c', 'echo wiped >> clicked'])
`,
  });

  test("shows custom buttons, trigger mode, and whether the resource is enabled", async ({ lilt, page }) => {
    lilt.write("input", "one");
    await page.goto(`${lilt.address}/r/app/overview`);
    const head = page.getByRole("region", { name: "State" });
    await head.getByRole("button", { name: "Wipe" }).click();
    await expect.poll(() => lilt.read("clicked")).toBe("wiped\n");
    await expect(head).toContainText("Cause of the last update");
    const mode = head.locator(".mode");
    await expect(mode).toHaveText("Auto");
    await mode.click();
    await expect(mode).toHaveText("Manual");
    // From now on changes wait, and the star on the button shows it.
    await expect(async () => {
      lilt.write("input", String(Math.random()));
      await expect(head.locator(".trigger .pending-changes")).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await head.getByRole("button", { name: "Disable" }).click();
    await expect(head).toContainText("Disabled");
    await expect(head.locator(".trigger, .mode")).toHaveCount(0);
    await head.getByRole("button", { name: "Enable" }).click();
    await expect(head.locator(".trigger")).toBeVisible();
    await expect(head).not.toContainText("Disabled");
  });

  test("copies the pod's name, and opens the cluster panel with a key", async ({ lilt, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const pod = "app-6b487f9d4c-x2x7k";
    // As if it ran in a cluster.
    await page.routeWebSocket(/\/ws$/, (socket) => {
      socket.connectToServer().onMessage((message) => {
        const data = JSON.parse(String(message));
        for (const resource of data.resources ?? []) {
          if (resource.metadata.name === "app") {
            resource.status.k8sResourceInfo = { podName: pod, podStatus: "Running", podRestarts: 2 };
          }
        }
        socket.send(JSON.stringify(data));
      });
    });
    await page.route("**/kubernetesdiscoveries/app", (route) =>
      route.fulfill({ json: { metadata: { name: "app" }, status: { pods: [{ name: pod }] } } }),
    );
    await page.route(/\/api\/(notices|objects)\?/, (route) => route.fulfill({ json: [] }));
    await page.goto(`${lilt.address}/r/app/overview`);
    const head = page.getByRole("region", { name: "State" });
    await expect(head).toContainText("2 restarts");
    await head.getByRole("button", { name: `Copy the pod's name ${pod}` }).click();
    await expect(page.locator(".toast")).toContainText(`Copied`);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(pod);
    await page.keyboard.press("c");
    const panel = page.getByRole("region", { name: "In the cluster" });
    await expect(panel).toContainText(pod);
    await page.keyboard.press("c");
    await expect(panel).toHaveCount(0);
  });
});

test.describe("running update", () => {
  test.use({ tiltfile: "local_resource('slow', cmd='exec sleep 600')\n" });

  test("can be cancelled in the row's menu", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    const slow = row(page, "slow");
    await expect(slow).toContainText("Updating");
    await slow.getByLabel("More for slow").click();
    await slow.getByRole("button", { name: "Cancel the update" }).click();
    await expect(slow).toContainText("Update failed");
    await slow.getByLabel("More for slow").click();
    await expect(slow.getByRole("button", { name: "Cancel the update" })).toBeDisabled();
  });
});

test("shows failing resources of a collapsed group in the overview and the sidebar", async ({
  lilt,
  page,
}) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  await page.getByRole("button", { name: "checks 2" }).click();
  await expect(row(page, "broken")).toHaveCount(0);
  const problems = page.locator("tr.group", { hasText: "checks" }).locator(".group-problems > span");
  await expect(problems).toHaveText(["1 Failing", "1 Waiting"]);
  await page.keyboard.press("l");
  const group = page.getByRole("navigation", { name: "Resources" }).getByRole("button", { name: "checks" });
  await expect(group).toHaveAttribute("aria-expanded", "false");
  await expect(group.locator(".group-count")).toHaveText("2");
  await expect(group.locator(".group-problems > span")).toHaveText(["1 Failing", "1 Waiting"]);
  await group.click();
  await expect(group.locator(".group-problems")).toHaveCount(0);
});

test.describe("sidebar", () => {
  test.use({
    tiltfile:
      "local_resource('a', cmd='true')\nlocal_resource('b', cmd='cat fixed', deps=['fixed'])\nlocal_resource('c', cmd='true')\n",
  });

  test("lists failing resources first when chosen, also after a reload", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/(all)/overview`);
    const list = page.getByRole("navigation", { name: "Resources" });
    const names = () =>
      list
        .locator("[data-name]")
        .evaluateAll((items) => items.map((item) => (item as HTMLElement).dataset["name"]));
    await expect(list.getByRole("link", { name: "b Update failed" })).toBeVisible();
    expect(await names()).toEqual(["(Tiltfile)", "a", "b", "c"]);
    await list.getByLabel("Failing first").check();
    await expect.poll(names).toEqual(["(Tiltfile)", "b", "a", "c"]);
    await page.reload();
    await expect.poll(names).toEqual(["(Tiltfile)", "b", "a", "c"]);
    lilt.write("fixed", "mended");
    await expect.poll(names).toEqual(["(Tiltfile)", "a", "b", "c"]);
  });
});
