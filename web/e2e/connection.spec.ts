import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Locator, WebSocketRoute } from "@playwright/test";
import { expect, row, test } from "./lilt";

// No server process: killing a session leaves its processes behind.
test.use({ tiltfile: "local_resource('hello', cmd='echo first session')\n" });

test("shows a lost connection and reconnects without a reload", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  const icon = page.locator("link[rel=icon]");
  await expect(icon).toHaveAttribute("href", "/favicon.svg");
  const before = await row(page, "hello").boundingBox();

  await lilt.kill();
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
  await expect(page).toHaveTitle(/^⚠/);
  await expect(icon).toHaveAttribute("href", /^data:image/);
  // Rows stay where they are.
  expect(await row(page, "hello").boundingBox()).toEqual(before);
  await expect(page.locator("[data-connection]")).toHaveText("Disconnected");
  await expect(row(page, "hello")).toBeVisible();
  await page.getByRole("button", { name: "Update hello now" }).click();
  await expect(page.locator(".toast")).toContainText("was not triggered");

  lilt.write("Tiltfile", "local_resource('other', cmd='echo second session')\n");
  await lilt.up();
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(icon).toHaveAttribute("href", "/favicon.svg");
  await expect(row(page, "other")).toContainText("Up to date");
  await expect(row(page, "hello")).toHaveCount(0);

  await page.getByRole("link", { name: "All logs" }).click();
  await expect(page.getByRole("log")).toContainText("second session");
  await expect(page.getByRole("log")).not.toContainText("first session");
  expect(await page.evaluate(() => "sameDocument" in window)).toBe(true);
});

test("covers no row and stops the clock without a connection", async ({ lilt, page }) => {
  const many = Array.from({ length: 30 }, (_, at) => `local_resource('r${at}', cmd='seq 1 40')\n`);
  lilt.write("Tiltfile", many.join(""));
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "r29")).toContainText("Up to date");
  await lilt.kill();
  const banner = page.getByRole("alert");
  await expect(banner).toBeVisible();
  const expectAboveBanner = async (what: Locator) => {
    const [box, bannerBox] = [await what.boundingBox(), await banner.boundingBox()];
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bannerBox?.y ?? 0);
  };
  await page.locator("main.overview").evaluate((main) => main.scrollTo(0, main.scrollHeight));
  await expectAboveBanner(row(page, "r29"));
  // The clock stands still, because ages may be wrong without a connection.
  const shownAge = await row(page, "r29").locator("time").textContent();
  await page.waitForFunction(() => performance.now() > 7_000);
  expect(await row(page, "r29").locator("time").textContent()).toBe(shownAge);
});

test("keeps the newest line visible without a connection", async ({ lilt, page }) => {
  lilt.write("Tiltfile", "local_resource('hello', cmd='seq 1 400')\n");
  await page.goto(`${lilt.address}/r/hello/overview`);
  const newest = page.getByRole("log").locator(".line").last();
  await expect(newest).toContainText("400");
  await lilt.kill();
  const banner = page.getByRole("alert");
  await expect(banner).toBeVisible();
  const [box, over] = [await newest.boundingBox(), await banner.boundingBox()];
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(over?.y ?? 0);
});

test("shows the log of the next session after the log was cleared", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("first session");
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await expect(log).toContainText("Cleared");
  await lilt.kill();
  lilt.write("Tiltfile", "local_resource('hello', cmd='echo second session')\n");
  await lilt.up();
  await expect(log).toContainText("second session");
  await expect(page.getByRole("button", { name: "Clear", exact: true })).toBeVisible();
});

test("reloads the page when the version of lilt changes", async ({ lilt, page }) => {
  let version = "";
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/ws$/, (socket) => {
    sockets.push(socket);
    socket.connectToServer().onMessage((message) => {
      const data = JSON.parse(String(message));
      if (data.type === "hello" && version !== "") data.version = version;
      socket.send(JSON.stringify(data));
    });
  });
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  // The same version is no reason to reload.
  await sockets.at(-1)?.close();
  await expect.poll(() => sockets.length).toBe(2);
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  expect(await page.evaluate(() => "sameDocument" in window)).toBe(true);
  version = "99.0.0";
  await sockets.at(-1)?.close();
  // Survives the navigation that it waits for, unlike `expect.poll`.
  await page.waitForFunction(() => !("sameDocument" in window));
  await expect(row(page, "hello")).toContainText("Up to date");
  await expect(page.locator(".version")).toHaveText("99.0.0");
});

test("shows a lost connection when the session ends", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toBeVisible();
  await lilt.kill("SIGTERM");
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
});

test("drops a silent connection and reconnects", async ({ lilt, page }) => {
  let isSilent = false;
  // As when the session hangs or a tunnel drops the connection: no side closes it.
  await page.routeWebSocket(/\/ws$/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (!isSilent) socket.send(message);
    });
    if (!isSilent) socket.send(JSON.stringify({ type: "tick" }));
  });
  await page.clock.install();
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  isSilent = true;
  await page.clock.fastForward(14_000);
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  await page.clock.fastForward(2_000);
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
  await page.getByRole("button", { name: "Update hello now" }).click();
  await expect(page.locator(".toast")).toContainText("was not triggered");
  isSilent = false;
  await page.clock.fastForward(20_000);
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("shows a lost connection while the session hangs, and continues without a reload", async ({
  lilt,
  page,
}) => {
  await page.clock.install();
  const [socket] = await Promise.all([page.waitForEvent("websocket"), page.goto(`${lilt.address}/`)]);
  await expect(row(page, "hello")).toContainText("Up to date");
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  // Silence means something only after the first tick.
  await socket.waitForEvent("framereceived", ({ payload }) => String(payload).includes('"tick"'));
  lilt.signal("SIGSTOP");
  await page.clock.fastForward(16_000);
  await expect(page.getByRole("alert")).toContainText("No connection to lilt");
  await expect(page.locator("[data-connection]")).toHaveText("Disconnected");
  lilt.signal("SIGCONT");
  await page.clock.fastForward(20_000);
  await expect(page.locator("[data-connection=open]")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.getByRole("button", { name: "Update hello now" }).click();
  await page.getByRole("link", { name: "All logs" }).click();
  await expect(
    page.getByRole("log").locator(".line", { hasText: /^[\d:]*hello *first session/ }),
  ).toHaveCount(2);
  expect(await page.evaluate(() => "sameDocument" in window)).toBe(true);
});

test("shows a fatal error of the session and keeps the resources", async ({ lilt, page }) => {
  await page.routeWebSocket(/\/ws$/, (socket) => {
    socket.connectToServer().onMessage((message) => {
      const data = JSON.parse(String(message));
      if (data.session) data.session.status.fatalError = "the disk is <b>full</b>";
      socket.send(JSON.stringify(data));
    });
  });
  await page.goto(`${lilt.address}/`);
  await expect(page.getByRole("alert")).toHaveText("The session has failed. the disk is <b>full</b>");
  await expect(row(page, "hello")).toContainText("Up to date");
});

test("asks to sign in when the session has a new token", async ({ lilt, page, pageErrors }) => {
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  await lilt.kill("SIGTERM");
  rmSync(join(lilt.folder, ".dev/tokens"), { recursive: true });
  await lilt.up();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to this lilt session");
  // The browser logs the refused requests.
  expect(pageErrors.filter((text) => !/40[13]/.test(text))).toEqual([]);
  pageErrors.length = 0;
});
