import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { violations } from "./axe";
import { TestNamespace } from "./testbed";
import { expect, findFreePort, Lilt, row, test as base } from "./lilt";
import { SnapshotViewer } from "./snapshotViewer";

const YAML = `
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2-swordfish}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: busybox
        command: [sh, -c, 'echo main says hello; echo the password is hunter2-swordfish; exec sleep 3600']
      - name: side
        image: busybox
        command: [sh, -c, 'echo side says hello; exec sleep 3600']
        env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: broken}
spec:
  selector: {matchLabels: {app: broken}}
  template:
    metadata: {labels: {app: broken}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: 'localhost:5000/no-such-image:v1', imagePullPolicy: Always}
`;

let count = 0;

/** A session that deploys to the test bed. */
const test = base.extend<{ inCluster: Lilt }>({
  inCluster: async ({ context }, use) => {
    const namespace = new TestNamespace(`page-${process.pid}-${++count}`);
    const port = await findFreePort();
    // Another process listens on this port.
    const otherServer = createServer().listen(0, "127.0.0.1");
    await once(otherServer, "listening");
    const usedPort = (otherServer.address() as AddressInfo).port;
    const tiltfile = `
allow_k8s_contexts(k8s_context())
k8s_yaml('all.yaml')
k8s_resource('web', port_forwards=['${port}:8080', '${usedPort}:8081'], objects=['login:secret'])
`;
    const lilt = await Lilt.start(tiltfile, { files: { "all.yaml": YAML }, variables: namespace.variables });
    await lilt.signIn(context);
    await use(lilt);
    await lilt.stop();
    otherServer.close();
    namespace.delete();
  },
});

test("shows pods, containers, events and port forwards of a resource in the cluster", async ({
  inCluster: lilt,
  page,
}) => {
  test.setTimeout(180_000);
  await page.goto(`${lilt.address}/r/web/overview`);
  await page.getByRole("button", { name: "In the cluster" }).click();
  const panel = page.getByRole("region", { name: "In the cluster" });
  await expect(panel).toContainText("web:deployment");
  await expect(panel).toContainText("login:secret");
  const pod = panel.getByRole("region", { name: /^Pod web-/ });
  await expect(pod.getByRole("list", { name: "Containers" })).toContainText("main ready", {
    timeout: 90_000,
  });
  await expect(pod.getByRole("list", { name: "Containers" })).toContainText("side ready");
  await expect(pod.getByRole("list", { name: /^Conditions of web-/ })).toContainText("Ready");
  const deployment = panel.getByRole("list", { name: "Conditions of web:deployment" });
  await expect(deployment).toContainText("Available");
  await expect(deployment).toContainText("Progressing");
  const forwards = panel.getByRole("region", { name: "Port forwards" });
  await expect(forwards).toContainText("→ 8080 open");
  await expect(forwards.locator("li", { hasText: "→ 8081" })).toContainText(/in use/i);
  const events = panel.getByRole("region", { name: "Events" });
  // The oldest event comes last, behind a button if there are more than a few.
  await expect(events).toContainText("Started");
  await expect(async () => {
    const all = events.getByRole("button", { name: /^All \d+ events$/ });
    if (await all.isVisible()) await all.click();
    await expect(events).toContainText("Scheduled", { timeout: 500 });
  }).toPass({ timeout: 20_000 });
  await expect(events).toContainText("pod/web-");
  expect(await violations(page, "in the cluster")).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await violations(page, "in the cluster", { colorsOnly: true })).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });

  // Stages after the deployment, in order and to scale.
  await page.getByRole("button", { name: "Why and when" }).click();
  const bars = page.getByRole("list", { name: "Updates, newest first" }).locator("> li").last();
  const positions: number[] = [];
  for (const stage of ["deploy", "schedule", "pull", "start", "ready"]) {
    const bar = bars.locator(`.bar.${stage}`).first();
    await expect(bar).toBeAttached();
    positions.push((await bar.boundingBox())?.x ?? NaN);
  }
  expect([...positions].sort((a, b) => a - b)).toEqual(positions);
  await page.getByRole("button", { name: "Why and when" }).click();

  // The log of a single container.
  const log = page.getByRole("log");
  await expect(log).toContainText("main says hello");
  await expect(log).toContainText("side says hello");
  const sections = page.getByLabel("Pod or container");
  const option = sections.locator("option", { hasText: /\/ side$/ });
  await expect(option).toHaveCount(1);
  const side = await option.getAttribute("value");
  await sections.selectOption(side);
  await expect(log).not.toContainText("main says hello");
  await expect(log).toContainText("side says hello");
  await expect(page).toHaveURL(/span=pod/);
  await sections.selectOption("");

  // Neither the page nor the snapshot contains the secret.
  await expect(log).toContainText("the password is [redacted secret login:password]");
  const saved = await page.request.get(`${lilt.address}/api/snapshot`);
  const text = await saved.text();
  expect(text).toContain("main says hello");
  expect(text).not.toContain("swordfish");

  // The snapshot shows what the page showed.
  lilt.write("saved.json", text);
  const viewer = await SnapshotViewer.start(lilt, "saved.json");
  const other = await page.context().newPage();
  await other.goto(viewer.link);
  await other.goto(`${viewer.address}/r/web/overview`);
  await other.getByRole("button", { name: "In the cluster" }).click();
  const snapshotPanel = other.getByRole("region", { name: "In the cluster" });
  await expect(snapshotPanel.getByRole("region", { name: /^Pod web-/ })).toContainText("side ready");
  await expect(snapshotPanel.getByRole("list", { name: "Conditions of web:deployment" })).toContainText(
    "Available",
  );
  await expect(snapshotPanel.getByRole("region", { name: "Port forwards" })).toContainText("→ 8080 open");
  await expect(snapshotPanel.getByRole("region", { name: "Events" })).toContainText("Scheduled");
  await other.close();
  await viewer.stop();

  // A problem is shown in the row and by its event.
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await expect(row(page, "broken").locator(".message")).toContainText(/image/i, { timeout: 60_000 });
  await row(page, "broken").getByRole("link", { name: "broken" }).click();
  await page.getByRole("button", { name: "In the cluster" }).click();
  await expect(page.getByRole("region", { name: "Events" }).locator("li.warning").first()).toContainText(
    "Failed",
  );
});
