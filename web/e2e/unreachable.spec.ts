/** A cluster that does not respond, and what leaves and stays in the log. */

import { expect, Lilt, row, test } from "./lilt";

/** Nothing listens on this port. */
const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: kind-gone
clusters: [{name: kind-gone, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: kind-gone, user: {token: none}}]
contexts: [{name: kind-gone, context: {cluster: kind-gone, user: kind-gone}}]
`;

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: busybox}]}
`;

test("an unreachable cluster is a banner with a retry, and counts as failing", async ({ context, page }) => {
  const lilt = await Lilt.start("k8s_yaml('web.yaml')\n", {
    files: { "web.yaml": DEPLOYMENT, kubeconfig: KUBECONFIG },
    variables: { KUBECONFIG: "kubeconfig" },
  });
  await lilt.admit(context);
  await page.goto(`${lilt.address}/`);
  const banner = page.getByRole("alert");
  await expect(banner).toContainText("Cluster kind-gone is unreachable");
  await expect(banner).toContainText("cannot reach the cluster kind-gone at https://127.0.0.1:9");
  await expect(banner).toContainText("Hint: is the cluster running?");
  await expect(row(page, "web")).toContainText("Unreachable");
  await expect(page.getByRole("button", { name: /1\s*Failing/ })).toBeVisible();
  await expect(page.locator("[data-connection]")).toHaveText("Unreachable");
  const attempts = () => lilt.output.split("ERROR: cannot reach the cluster").length;
  const before = attempts();
  await banner.getByRole("button", { name: "Retry now" }).click();
  await expect.poll(attempts).toBeGreaterThan(before);
  await page.goto("about:blank");
  await lilt.end();
});

test("Escape clears the filter of a log, then leaves it, and the log stays", async ({ lilt, page }) => {
  await page.goto(`${lilt.address}/r/hello/overview`);
  const log = page.getByRole("log");
  await expect(log).toContainText("hello from the build");
  const box = page.getByRole("searchbox", { name: "Filter lines by text" });
  await box.fill("nothing has this");
  await expect(log).toContainText("No line matches.");
  await page.keyboard.press("Escape");
  await expect(box).toHaveValue("");
  await expect(box).toBeFocused();
  await expect(log).toContainText("hello from the build");
  await page.keyboard.press("Escape");
  await expect(box).not.toBeFocused();
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
});

test("Escape on the lines of a log clears its filter before it leads to the overview", async ({
  lilt,
  page,
}) => {
  await page.goto(`${lilt.address}/r/hello/overview?term=nothing&level=error`);
  const log = page.getByRole("log");
  await expect(log).toContainText("No line matches.");
  await log.focus();
  await page.keyboard.press("Escape");
  await expect(log).toContainText("hello from the build");
  await expect(page).toHaveURL(/\/r\/hello\/overview$/);
  await page.keyboard.press("Escape");
  await expect(page.locator("main.overview")).toBeVisible();
});

test.describe("copying", () => {
  test.use({
    tiltfile: `local_resource('json', cmd=['printf', '%s\\\\n', '{"msg":"hi","n":1}', 'plain text'])\n`,
  });

  test("copied lines are those of the log, one per row", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/r/json/overview`);
    const log = page.getByRole("log");
    await expect(log.locator(".structured")).toHaveCount(1);
    await expect(log).toContainText("plain text");
    const copied = await log.evaluate((element) => {
      const rows = [...element.querySelectorAll(".line")];
      const from = rows.find((line) => line.querySelector(".structured"));
      const until = rows.find((line) => line.querySelector(".text")?.textContent === "plain text");
      if (!from || !until) return "no such lines";
      document.getSelection()?.setBaseAndExtent(from, 0, until, until.childNodes.length);
      const event = new ClipboardEvent("copy", {
        clipboardData: new DataTransfer(),
        bubbles: true,
        cancelable: true,
      });
      from.dispatchEvent(event);
      return event.clipboardData?.getData("text/plain");
    });
    expect(copied).toBe('{"msg":"hi","n":1}\nplain text');
  });
});
