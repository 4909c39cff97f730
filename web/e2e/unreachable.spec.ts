/** A cluster that does not respond. */

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

test("shows an unreachable cluster as a banner with a retry, and as failing", async ({ context, page }) => {
  const lilt = await Lilt.start("k8s_yaml('web.yaml')\n", {
    files: { "web.yaml": DEPLOYMENT, kubeconfig: KUBECONFIG },
    variables: { KUBECONFIG: "kubeconfig" },
  });
  await lilt.signIn(context);
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
  await lilt.stop();
});
