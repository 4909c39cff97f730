import { join } from "node:path";
import { expect, Lilt, row, test } from "./lilt";

test("links to other sessions of this machine", async ({ lilt, page }) => {
  const other = await Lilt.start("local_resource('there', cmd='true')\n", {
    variables: { TILT_DEV_DIR: join(lilt.folder, ".dev") },
  });
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toBeVisible();
  await page.locator(".sessions summary").click();
  await page.getByRole("link", { name: `port ${other.port}` }).click();
  // The link signs this browser in to the other session.
  await expect(row(page, "there")).toContainText("Up to date");
  expect(new URL(page.url()).port).toBe(String(other.port));
  expect(page.url()).not.toContain("code=");
  await page.locator(".sessions summary").click();
  await page.getByRole("link", { name: `port ${lilt.port}` }).click();
  await expect(row(page, "hello")).toBeVisible();
  await other.stop();
});

test("shows the clusters of the session and whether they respond", async ({ lilt, page }) => {
  const connection = { kubernetes: { context: "kind-dev", namespace: "shop" } };
  const clusters = [
    {
      metadata: { name: "default" },
      status: { connection, version: "v1.34.1", connectedAt: "2026-01-01T00:00:00Z" },
    },
    { metadata: { name: "far" }, status: { error: "no route to host" } },
  ];
  await page.route("**/v1alpha1/clusters", (route) => route.fulfill({ json: { items: clusters } }));
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toBeVisible();
  await page.locator(".sessions summary").click();
  await expect(page.getByRole("list", { name: "Clusters of this session" }).locator("li")).toHaveText([
    "kind-dev, namespace shop answers (v1.34.1)",
    "far no route to host",
  ]);
});

test("notifies about failures and recoveries when enabled", async ({ lilt, page, context }) => {
  await context.grantPermissions(["notifications"]);
  // Records notifications instead of showing them, and can pretend that the page is hidden.
  await page.addInitScript(() => {
    const shown: string[] = [];
    class Notification {
      static permission = "granted";
      static requestPermission = async () => "granted";
      onclick: (() => void) | undefined;
      constructor(title: string) {
        shown.push(title);
        Object.assign(window, { newest: this });
      }
      close() {}
    }
    Object.assign(window, { Notification, shown });
    Object.defineProperty(document, "hidden", { get: () => "away" in window });
  });
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "broken")).toContainText("Update failed");
  await page.getByRole("button", { name: "Notify me of failures" }).click();
  await page.evaluate(() => Object.assign(window, { away: true }));
  lilt.write("fixed", "yes");
  await expect.poll(shown).toContain("broken works again");
  lilt.write("Tiltfile", "local_resource('broken', cmd='exit 3')\n");
  await expect.poll(shown).toContain("broken fails");
  // A click on the notification opens the resource.
  await page.evaluate(() => (window as unknown as { newest: { onclick: () => void } }).newest.onclick());
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("broken");
  await page.keyboard.press("Escape");
  // The choice is saved, and a visible page shows no notifications.
  await page.reload();
  await expect(page.getByRole("button", { name: "Notify me of failures" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  lilt.write("Tiltfile", "local_resource('broken', cmd='true')\n");
  await expect(row(page, "broken")).toContainText("Up to date");
  expect(await shown()).toEqual([]);
});

test("says that the browser denied notifications", async ({ lilt, page, context }) => {
  await context.clearPermissions();
  await page.goto(`${lilt.address}/`);
  const bell = page.getByRole("button", { name: "Notify me of failures" });
  await bell.click();
  await expect(page.locator(".toast")).toContainText("This browser does not let the page notify you");
  await expect(bell).toHaveAttribute("aria-pressed", "false");
  await page.reload();
  await expect(bell).toHaveAttribute("aria-pressed", "false");
});
