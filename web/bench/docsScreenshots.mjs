/**
 * Takes the screenshots of docs/images from a real session on the test bed:
 * `eval "$(testbed/testbed env)"; node bench/docsScreenshots.mjs`. LILT_BIN is the binary to run, by default the one
 * in target/debug. The thousand resources belong to a generated session (see testSessions.mjs).
 */

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchBrowser } from "./launchBrowser.mjs";
import { compressPng } from "./compressPng.mjs";
import { startSample } from "./testSessions.mjs";

const root = join(import.meta.dirname, "../..");
const binary = process.env.LILT_BIN ?? join(root, "target/debug/lilt");
const images = join(root, "docs/images");

const TILTFILE = `
load('ext://uibutton', 'cmd_button', 'choice_input', 'location', 'text_input')
k8s_yaml('shop.yaml')
k8s_resource('web', port_forwards=['18080:8080'], objects=['settings:configmap'], labels=['backend'])
k8s_resource('payments', labels=['backend'])
local_resource('seed-db', cmd='true', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL, labels=['backend'])
local_resource('codegen', cmd='sleep 0.4; echo generated 14 files', labels=['build'])
local_resource('lint', cmd='echo "src/cart.ts:12:7 total is never read"; exit 1', labels=['build'])
local_resource('docs', serve_cmd='echo serving the handbook; exec sleep 3600', links=[link('http://localhost:8123', 'handbook')], labels=['frontend'])
local_resource('smoke', cmd='true', resource_deps=['lint'], labels=['frontend'])
cmd_button('reset', resource='web', text='Reset data', icon_name='delete', requires_confirmation=True, argv=['true'])
cmd_button('invite', location=location.NAV, text='Invite', icon_name='person', argv=['true'], inputs=[text_input('WHOM', label='Whom', placeholder='name@example.com'), choice_input('ROLE', label='Role', choices=['reader', 'owner'])])
`;

const deployment = (name, command) => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: busybox
        command: [sh, -c, ${JSON.stringify(command)}]
`;

const REQUEST_LOG_SCRIPT = `i=0; while true; do i=$((i+1)); s=200; l=info; [ $((i % 17)) = 0 ] && s=404 && l=warning
echo '{"level":"'$l'","msg":"GET /v1/items/'$i'","status":'$s',"took_ms":12}'; sleep 0.25; done`;

const YAML = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
${deployment("web", REQUEST_LOG_SCRIPT)}${deployment("payments", "echo 'error: no credentials for the bank'; exit 1")}`;

const folder = join(mkdtempSync(join(tmpdir(), "lilt-screenshots-")), "shop");
mkdirSync(folder);
const kubeconfig = join(folder, "kubeconfig");
copyFileSync(process.env.KUBECONFIG, kubeconfig);
const env = { ...process.env, KUBECONFIG: kubeconfig, TILT_DEV_DIR: join(folder, ".dev") };
const namespace = `screenshots-${process.pid}`;
const kubectl = (...args) => execFileSync("kubectl", args, { env, stdio: "pipe" });
kubectl("create", "namespace", namespace);
kubectl("config", "set-context", "--current", "--namespace", namespace);
writeFileSync(join(folder, "Tiltfile"), TILTFILE);
writeFileSync(join(folder, "shop.yaml"), YAML);

const lilt = spawn(binary, ["up", "--stream", "--port", "random"], { cwd: folder, env });
// Clean up however this process exits.
process.once("exit", () => {
  lilt.kill();
  kubectl("delete", "namespace", namespace, "--wait=false");
  rmSync(join(folder, ".."), { recursive: true, force: true });
});
let output = "";
lilt.stdout.on("data", (data) => (output += data));
const findLink = () => /http:\/\/localhost:(\d+)\/\?code=[\w-]+/.exec(output);
while (!findLink() && lilt.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 50));
const [printedLink, port] = findLink();
const { origin } = new URL(printedLink);
// Every link works once.
const newLink = () =>
  execFileSync(binary, ["open", "--print", "--port", port], { env, encoding: "utf8" }).trim();

const browser = await launchBrowser();
async function takeScreenshot(name, { width = 1440, height = 900, colorScheme = "light" }, path, prepare) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height } });
  const page = await context.newPage();
  await page.goto(newLink());
  await page.locator("tr[data-resource=web]", { hasText: "Running" }).waitFor();
  await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
  await page.goto(`${origin}${path}`);
  await prepare(page);
  await saveScreenshot(page, name);
  await context.close();
}

async function saveScreenshot(page, name) {
  writeFileSync(join(images, `${name}.png`), compressPng(await page.screenshot()));
}

await takeScreenshot("overview", {}, "/overview", async (page) => {
  await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
  await page.locator("tr[data-resource=smoke]", { hasText: "Waiting" }).waitFor();
});
await takeScreenshot("cluster", {}, "/r/web/overview", async (page) => {
  await page.getByRole("button", { name: "In the cluster" }).click();
  await page.getByRole("list", { name: "Conditions of web:deployment" }).getByText("Available").waitFor();
  await page.getByRole("region", { name: "Events" }).locator("li").first().waitFor();
});
await takeScreenshot("resource", { colorScheme: "dark" }, "/r/web/overview", async (page) => {
  await page.getByRole("button", { name: "Why and when" }).click();
  await page.locator(".bar.ready").waitFor();
  await page.locator(".line").nth(15).waitFor();
});
await takeScreenshot(
  "logs",
  { width: 800, height: 700 },
  "/r/(all)/overview?term=404&only=0",
  async (page) => {
    await page.locator("mark").first().waitFor();
    await page.keyboard.press("N");
    await page.locator(".target").waitFor();
  },
);
const narrow = { width: 800, height: 700 };
const waitUntilSettled = (page) => page.locator("tr[data-resource=smoke]", { hasText: "Waiting" }).waitFor();
await takeScreenshot("overview-dark-800", { ...narrow, colorScheme: "dark" }, "/overview", waitUntilSettled);
await takeScreenshot("palette", { ...narrow, colorScheme: "dark" }, "/overview", async (page) => {
  await waitUntilSettled(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("web");
});
await takeScreenshot("form", narrow, "/r/web/overview", async (page) => {
  await page.locator(".line").nth(8).waitFor();
  await page.getByRole("button", { name: "Invite" }).click();
});

// Few, some and many generated resources.
for (const [count, colorScheme, filter] of [
  [3, "light", ""],
  [30, "dark", ""],
  [1_000, "light", "?state=error"],
]) {
  const session = await startSample(count, 2_000, false);
  const context = await browser.newContext({ colorScheme, viewport: narrow });
  const page = await context.newPage();
  await page.goto(`${session.address}/overview${filter}`);
  await page.locator("tr[data-resource] .status").first().waitFor();
  await saveScreenshot(page, `overview-${count}`);
  await context.close();
  await session.stop();
}

// Last, because it ends the session.
const page = await (await browser.newContext({ viewport: narrow })).newPage();
await page.goto(newLink());
await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
lilt.kill("SIGINT");
await new Promise((resolve) => lilt.once("exit", resolve));
await page.getByRole("alert").waitFor();
await saveScreenshot(page, "disconnected");
await browser.close();
