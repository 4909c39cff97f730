/** What a beginner is shown of the dashboard, with examples/myapp in a real cluster. */

import type { Page } from "@playwright/test";
import { Namespace } from "./bed";
import { expect, freePort, Lilt, row, test as base } from "./lilt";

/** Images are built and pods start, on a machine that has other things to do. */
const PATIENCE = { timeout: 150_000 };

interface MyApp {
  lilt: Lilt;
  namespace: Namespace;
  port: number;
}

let count = 0;

const test = base.extend<{ myapp: MyApp }>({
  myapp: async ({ context }, use) => {
    const namespace = new Namespace(`tour-${process.pid}-${++count}`);
    const port = await freePort();
    const lilt = await Lilt.example("myapp", { ...namespace.variables, MYAPP_PORT: String(port) });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await lilt.admit(context);
    await use({ lilt, namespace, port });
    await lilt.end();
    namespace.end();
  },
});

/** Waits until the service answers with these words. */
async function serves(page: Page, { port }: MyApp, words: string): Promise<void> {
  await expect
    .poll(async () => {
      const answer = await page.request.get(`http://localhost:${port}/`).catch(() => undefined);
      return answer?.text();
    }, PATIENCE)
    .toContain(words);
}

test("the tour of the dashboard", async ({ myapp, page }) => {
  test.setTimeout(600_000);
  const { lilt } = myapp;
  await page.goto(`${lilt.address}/`);
  await test.step("two statuses, in groups", () => twoStatuses(page));
  await test.step("pod and endpoints", () => podAndEndpoints(page, myapp));
  await test.step("log filters", () => logFilters(page, myapp));
  await page.goto(`${lilt.address}/`);
  await test.step("the trigger button", () => triggerButton(page));
  await test.step("changes wait for it", () => changesWait(page, myapp));
  await test.step("a resource by hand for a while", () => byHandForAWhile(page, myapp));
  await test.step("a star puts it first", async () => {
    await row(page, "myapp").getByRole("button", { name: "Star myapp" }).click();
    await expect(page.locator("tr[data-resource]").first()).toHaveAttribute("data-resource", "myapp");
  });
});

async function twoStatuses(page: Page): Promise<void> {
  for (const group of ["services 2", "data 1", "tools 1"]) {
    await expect(page.getByRole("button", { name: group })).toBeVisible();
  }
  for (const name of ["db", "greeter", "myapp"]) {
    await expect(row(page, name)).toContainText("Running", PATIENCE);
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
  // It is the one that kubectl knows.
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
  // Built and deployed anew, although nothing has changed.
  await expect(shown).not.toHaveText(before ?? "", PATIENCE);
  await expect(row(page, "greeter")).toContainText("Running", PATIENCE);
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
  // The errors alone, and what the program says of itself.
  await page.goto(`${lilt.address}/r/checks/overview?level=error`);
  await expect(page.getByRole("log").locator(".line.error").first()).toBeVisible();
  await page.goto(`${lilt.address}/r/checks/overview?term=SyntaxError`);
  await expect(page.getByRole("log").locator(".line").first()).toContainText("SyntaxError");

  await page.goto(`${lilt.address}/`);
  lilt.edit("app/main.py", `WELCOME = "Salve`, `WELCOME = "Salve"`);
  await expect(star).toBeVisible();
  await button.click();
  await expect(checks).toContainText("Up to date");
  await serves(page, myapp, "Salve");
}

async function byHandForAWhile(page: Page, myapp: MyApp): Promise<void> {
  const service = row(page, "myapp");
  await service.locator(".mode").click();
  await expect(service.locator(".mode")).toHaveText("Manual");
  myapp.lilt.edit("app/main.py", `WELCOME = "Salve"`, `WELCOME = "Ciao"`);
  await expect(service).toContainText("Changes waiting");
  await expect(service.locator(".trigger .pending-changes")).toBeVisible();
  await serves(page, myapp, "Salve");
  await page.getByRole("button", { name: "Update myapp now" }).click();
  await serves(page, myapp, "Ciao");
  await expect(service.locator(".trigger .pending-changes")).toHaveCount(0);
}
