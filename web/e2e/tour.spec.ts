/** The tour of the dashboard for beginners, with examples/myapp in a real cluster. */

import type { Page } from "@playwright/test";
import { TestNamespace } from "./testbed";
import { expect, findFreePort, Lilt, row, test as base } from "./lilt";

/** Building images and starting pods takes long on a busy machine. */
const SLOW = { timeout: 150_000 };

interface MyApp {
  lilt: Lilt;
  namespace: TestNamespace;
  port: number;
}

let count = 0;

const test = base.extend<{ myapp: MyApp }>({
  myapp: async ({ context }, use) => {
    const namespace = new TestNamespace(`tour-${process.pid}-${++count}`);
    const port = await findFreePort();
    const lilt = await Lilt.startExample("myapp", { ...namespace.variables, MYAPP_PORT: String(port) });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await lilt.signIn(context);
    await use({ lilt, namespace, port });
    await lilt.stop();
    namespace.delete();
  },
});

/** Waits until the service responds with this text. */
async function expectResponse(page: Page, { port }: MyApp, text: string): Promise<void> {
  await expect
    .poll(async () => {
      const response = await page.request.get(`http://localhost:${port}/`).catch(() => undefined);
      return response?.text();
    }, SLOW)
    .toContain(text);
}

test("follows the tour of the dashboard", async ({ myapp, page }) => {
  test.setTimeout(600_000);
  const { lilt } = myapp;
  await page.goto(`${lilt.address}/`);
  await test.step("two statuses, in groups", () => twoStatuses(page));
  await test.step("pod and endpoints", () => podAndEndpoints(page, myapp));
  await test.step("log filters", () => logFilters(page, myapp));
  await page.goto(`${lilt.address}/`);
  await test.step("the trigger button", () => triggerButton(page));
  await test.step("changes wait for a manual trigger", () => changesWait(page, myapp));
  await test.step("a resource is manual for a while", () => manualForAWhile(page, myapp));
  await test.step("a starred resource comes first", async () => {
    await row(page, "myapp").getByRole("button", { name: "Star myapp" }).click();
    await expect(page.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "myapp");
  });
});

async function twoStatuses(page: Page): Promise<void> {
  for (const group of ["services 2", "data 1", "tools 1"]) {
    await expect(page.getByRole("button", { name: group })).toBeVisible();
  }
  for (const name of ["db", "greeter", "myapp"]) {
    await expect(row(page, name)).toContainText("Running", SLOW);
    await expect(row(page, name)).toContainText("Up to date");
  }
  await expect(row(page, "checks")).toContainText("Not started");
  await expect(row(page, "checks")).toContainText("Nothing to run");
}

async function podAndEndpoints(page: Page, myapp: MyApp): Promise<void> {
  const shown = row(page, "myapp").locator(".pod");
  await expect(shown).toHaveText(/^myapp-/);
  const pod = await shown.textContent();
  await row(page, "myapp")
    .getByRole("button", { name: `Copy the pod's name ${pod}` })
    .click();
  await expect(page.locator(".toast")).toContainText(`${pod}`);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(pod);
  // It is the pod that kubectl reports.
  expect(myapp.namespace.kubectl("get", "pod", pod ?? "", "-o", "name").trim()).toBe(`pod/${pod}`);

  const endpoints = row(page, "myapp").getByRole("list", { name: "Endpoints" });
  const address = await endpoints.getByRole("link", { name: "myapp" }).getAttribute("href");
  expect(address).toBe(`http://localhost:${myapp.port}/`);
  const [opened] = await Promise.all([
    page.waitForEvent("popup"),
    endpoints.getByRole("link", { name: "myapp" }).click(),
  ]);
  await expect(opened.locator("body")).toContainText("Welcome");
  await opened.close();
  await expect(endpoints.getByRole("link", { name: "FastAPI" })).toBeVisible();
}

async function logFilters(page: Page, { lilt }: MyApp): Promise<void> {
  await page.goto(`${lilt.address}/r/myapp/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("visit 1");
  await page.getByLabel("Source", { exact: true }).selectOption("Build");
  await expect(log).toContainText("STEP 3/3");
  await expect(log).not.toContainText("visit 1");
  await page.getByLabel("Source", { exact: true }).selectOption("Runtime");
  await expect(log).toContainText("visit 1");
  await expect(log).not.toContainText("STEP 3/3");
  const search = page.getByRole("searchbox", { name: "Filter lines by text" });
  await search.fill("VISIT");
  await expect(log).toContainText("visit 1");
  await expect(log).not.toContainText("Uvicorn");
  await search.fill("/^visit [0-9]+$/");
  await expect(log.locator(".line").first()).toContainText("visit 1");
  await expect(log).not.toContainText("Uvicorn");
  await search.fill("");
  await page.getByLabel("Source", { exact: true }).selectOption("Build and runtime");
  await page.getByLabel("Level", { exact: true }).selectOption("Errors");
  await expect(log).not.toContainText("visit 1");
}

async function triggerButton(page: Page): Promise<void> {
  const shown = row(page, "greeter").locator(".pod");
  const before = await shown.textContent();
  await page.getByRole("button", { name: "Update greeter now" }).click();
  // Built and deployed again although nothing has changed.
  await expect(shown).not.toHaveText(before ?? "", SLOW);
  await expect(row(page, "greeter")).toContainText("Running", SLOW);
  await expect(row(page, "greeter")).toContainText("Up to date");
}

async function changesWait(page: Page, myapp: MyApp): Promise<void> {
  const { lilt } = myapp;
  const checks = row(page, "checks");
  const star = checks.locator(".trigger .pending-changes");
  const button = page.getByRole("button", { name: "Update checks now" });
  await button.click();
  await expect(checks).toContainText("Up to date");
  await expect(star).toHaveCount(0);

  lilt.edit("app/main.py", `WELCOME = "Welcome"`, `WELCOME = "Salve`);
  await expect(checks).toContainText("Changes waiting");
  await expect(star).toBeVisible();
  await button.click();
  await expect(checks).toContainText("Update failed");
  await expect(star).toHaveCount(0);
  // Only the errors, then a message of the program itself.
  await page.goto(`${lilt.address}/r/checks/overview?level=error`);
  await expect(page.getByRole("log").locator(".line.error").first()).toBeVisible();
  await page.goto(`${lilt.address}/r/checks/overview?term=SyntaxError`);
  await expect(page.getByRole("log").locator(".line").first()).toContainText("SyntaxError");

  await page.goto(`${lilt.address}/`);
  lilt.edit("app/main.py", `WELCOME = "Salve`, `WELCOME = "Salve"`);
  await expect(star).toBeVisible();
  await button.click();
  await expect(checks).toContainText("Up to date");
  await expectResponse(page, myapp, "Salve");
}

async function manualForAWhile(page: Page, myapp: MyApp): Promise<void> {
  const service = row(page, "myapp");
  await service.locator(".mode").click();
  await expect(service.locator(".mode")).toHaveText("Manual");
  myapp.lilt.edit("app/main.py", `WELCOME = "Salve"`, `WELCOME = "Ciao"`);
  await expect(service).toContainText("Changes waiting");
  await expect(service.locator(".trigger .pending-changes")).toBeVisible();
  await expectResponse(page, myapp, "Salve");
  await page.getByRole("button", { name: "Update myapp now" }).click();
  await expectResponse(page, myapp, "Ciao");
  await expect(service.locator(".trigger .pending-changes")).toHaveCount(0);
}
