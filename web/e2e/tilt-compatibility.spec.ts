import { expect, row, test } from "./lilt";

test.use({ tiltfile: "local_resource('hello', cmd='echo hello', deps=['changed'])\n" });

test("Tilt's URL of starred resources shows their logs together", async ({ lilt, page }) => {
  lilt.write(
    "Tiltfile",
    "for name in ['a', 'b', 'c']:\n  local_resource(name, cmd='echo this is ' + name)\n",
  );
  await page.goto(`${lilt.address}/r/(starred)/overview`);
  await expect(page.getByRole("main")).toContainText("No resource has a star");
  await page.getByRole("link", { name: "All resources" }).click();
  for (const name of ["a", "b"]) await row(page, name).last().getByRole("button", { name: "Star" }).click();
  await page.getByRole("main").getByRole("link", { name: "Starred logs" }).click();
  await expect(page).toHaveURL(/\/r\/\(starred\)\/overview$/);
  await expect(page).toHaveTitle(/^Starred logs/);
  const log = page.getByRole("log");
  await expect(log).toContainText("this is a");
  await expect(log).toContainText("this is b");
  await expect(log).not.toContainText("this is c");
  await page.keyboard.press("Escape");
  await row(page, "c").getByRole("button", { name: "Star c" }).click();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("starred logs");
  await page.keyboard.press("Enter");
  await expect(log).toContainText("this is c");
});

test("Tilt's URLs and its WebSocket work as in Tilt", async ({ lilt, page }) => {
  for (const path of ["/", "/overview", "/r/hello", "/r/hello/overview", "/r/(all)/overview"]) {
    const response = await page.goto(`${lilt.address}${path}`);
    expect(response?.status()).toBe(200);
    await expect(page.getByRole("main")).toContainText("hello");
  }
  const view = (await (await page.request.get(`${lilt.address}/api/view`)).json()) as View;
  expect(view.isComplete).toBe(true);
  expect(view.uiResources?.map(({ metadata }) => metadata.name)).toEqual(["(Tiltfile)", "hello"]);
  expect(view.uiButtons?.length).toBeGreaterThan(0);
  expect(view.logList?.segments.some(({ text }) => text === "hello\n")).toBe(true);

  // Like Tilt's own page.
  await page.evaluate(async () => {
    const token = await (await fetch("/api/websocket_token")).text();
    const views: unknown[] = [];
    const socket = new WebSocket(`ws://${location.host}/ws/view?csrf=${token}`);
    socket.onmessage = ({ data }) => views.push(JSON.parse(String(data)));
    Object.assign(window, { views });
  });
  const views = () => page.evaluate(() => (window as unknown as { views: View[] }).views);
  await expect.poll(async () => (await views())[0]?.isComplete).toBe(true);
  const trigger = await page.request.post(`${lilt.address}/api/trigger`, {
    headers: { "X-Tilt-Token": lilt.token },
    data: { manifest_names: ["hello"], build_reason: 16 },
  });
  expect(trigger.status()).toBe(200);
  const changes = async () => (await views()).slice(1);
  // A quick update may have finished by the time it is reported.
  await expect
    .poll(async () =>
      (await changes()).some(({ uiResources }) =>
        uiResources?.some(({ status }) => (status?.buildHistory?.length ?? 0) > 1),
      ),
    )
    .toBe(true);
  await expect
    .poll(async () =>
      (await changes()).some(({ logList }) => logList?.segments.some(({ text }) => text === "hello\n")),
    )
    .toBe(true);
  expect((await changes()).every(({ isComplete }) => isComplete === undefined)).toBe(true);
  // A removed resource is reported with its deletion time.
  lilt.write("Tiltfile", "local_resource('other', cmd='true')\n");
  await expect
    .poll(async () =>
      (await changes()).some(({ uiResources }) =>
        uiResources?.some(
          ({ metadata }) => metadata.name === "hello" && metadata.deletionTimestamp !== undefined,
        ),
      ),
    )
    .toBe(true);
  await page.goto(`${lilt.address}/overview`);
  await expect(row(page, "other")).toBeVisible();
});

interface View {
  isComplete?: boolean;
  uiResources?: {
    metadata: { name: string; deletionTimestamp?: string };
    status?: { buildHistory?: unknown[] };
  }[];
  uiButtons?: unknown[];
  logList?: { segments: { text: string }[] };
}
