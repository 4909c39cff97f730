/**
 * The pictures of docs/images, of a real session on the test bed: `eval "$(testbed/testbed env)"; node bench/documentation.mjs`.
 * LILT_BIN is the lilt that is shown, otherwise the one in target/debug. The thousand resources are of a made-up session (see
 * sample.mjs).
 */

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { small } from "./png.mjs";
import { start } from "./sample.mjs";

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

const REQUESTS = `i=0; while true; do i=$((i+1)); s=200; l=info; [ $((i % 17)) = 0 ] && s=404 && l=warning
echo '{"level":"'$l'","msg":"GET /v1/items/'$i'","status":'$s',"took_ms":12}'; sleep 0.25; done`;

const YAML = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
${deployment("web", REQUESTS)}${deployment("payments", "echo 'error: no credentials for the bank'; exit 1")}`;

const folder = join(mkdtempSync(join(tmpdir(), "lilt-pictures-")), "shop");
mkdirSync(folder);
const kubeconfig = join(folder, "kubeconfig");
copyFileSync(process.env.KUBECONFIG, kubeconfig);
const env = { ...process.env, KUBECONFIG: kubeconfig, TILT_DEV_DIR: join(folder, ".dev") };
const namespace = `pictures-${process.pid}`;
const kubectl = (...words) => execFileSync("kubectl", words, { env, stdio: "pipe" });
kubectl("create", "namespace", namespace);
kubectl("config", "set-context", "--current", "--namespace", namespace);
writeFileSync(join(folder, "Tiltfile"), TILTFILE);
writeFileSync(join(folder, "shop.yaml"), YAML);

const lilt = spawn(binary, ["up", "--stream", "--port", "random"], { cwd: folder, env });
// Whatever goes wrong here, nothing stays behind.
process.once("exit", () => {
  lilt.kill();
  kubectl("delete", "namespace", namespace, "--wait=false");
  rmSync(join(folder, ".."), { recursive: true, force: true });
});
let output = "";
lilt.stdout.on("data", (data) => (output += data));
const printed = () => /http:\/\/localhost:(\d+)\/\?code=[\w-]+/.exec(output);
while (!printed() && lilt.exitCode === null) await new Promise((done) => setTimeout(done, 50));
const [first, port] = printed();
const { origin } = new URL(first);
// Each link works once.
const link = () =>
  execFileSync(binary, ["open", "--print", "--port", port], { env, encoding: "utf8" }).trim();

const browser = await launch();
async function picture(name, { width = 1440, height = 900, colorScheme = "light" }, path, prepare) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height } });
  const page = await context.newPage();
  await page.goto(link());
  await page.locator("tr[data-resource=web]", { hasText: "Running" }).waitFor();
  await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
  await page.goto(`${origin}${path}`);
  await prepare(page);
  await save(page, name);
  await context.close();
}

async function save(page, name) {
  writeFileSync(join(images, `${name}.png`), small(await page.screenshot()));
}

await picture("overview", {}, "/overview", async (page) => {
  await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
  await page.locator("tr[data-resource=smoke]", { hasText: "Waiting" }).waitFor();
});
await picture("cluster", {}, "/r/web/overview", async (page) => {
  await page.getByRole("button", { name: "In the cluster" }).click();
  await page.getByRole("list", { name: "Conditions of web:deployment" }).getByText("Available").waitFor();
  await page.getByRole("region", { name: "Events" }).locator("li").first().waitFor();
});
await picture("resource", { colorScheme: "dark" }, "/r/web/overview", async (page) => {
  await page.getByRole("button", { name: "Why and when" }).click();
  await page.locator(".bar.ready").waitFor();
  await page.locator(".line").nth(15).waitFor();
});
await picture("logs", { width: 800, height: 700 }, "/r/(all)/overview?term=404&only=0", async (page) => {
  await page.locator("mark").first().waitFor();
  await page.keyboard.press("N");
  await page.locator(".target").waitFor();
});
const narrow = { width: 800, height: 700 };
const settled = (page) => page.locator("tr[data-resource=smoke]", { hasText: "Waiting" }).waitFor();
await picture("overview-dark-800", { ...narrow, colorScheme: "dark" }, "/overview", settled);
await picture("palette", { ...narrow, colorScheme: "dark" }, "/overview", async (page) => {
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("web");
});
await picture("form", narrow, "/r/web/overview", async (page) => {
  await page.locator(".line").nth(8).waitFor();
  await page.getByRole("button", { name: "Invite" }).click();
});

/** Few, some and many of them, made up. */
for (const [count, colorScheme, filter] of [
  [3, "light", ""],
  [30, "dark", ""],
  [1_000, "light", "?state=error"],
]) {
  const session = await start(count, 2_000, false);
  const context = await browser.newContext({ colorScheme, viewport: narrow });
  const page = await context.newPage();
  await page.goto(`${session.address}/overview${filter}`);
  await page.locator("tr[data-resource] .status").first().waitFor();
  await save(page, `overview-${count}`);
  await context.close();
  await session.end();
}

// The last one: its session ends.
const page = await (await browser.newContext({ viewport: narrow })).newPage();
await page.goto(link());
await page.locator("tr[data-resource=payments]", { hasText: "Failing" }).waitFor();
lilt.kill("SIGINT");
await new Promise((done) => lilt.once("exit", done));
await page.getByRole("alert").waitFor();
await save(page, "disconnected");
await browser.close();
