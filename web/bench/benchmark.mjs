/**
 * Measures the page in Chromium against a generated session with 1,000 resources and a million lines: `npm run bench`.
 * It prints results and targets but asserts nothing, because they depend on the machine.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser } from "./launchBrowser.mjs";
import { liltBinary, sampleBinary, startLilt, startSample } from "./testSessions.mjs";

const RESOURCES = 1_000;
const LINES = 1_000_000;
const CHANGES_SECONDS = 10;

function report(name, result, target) {
  console.log(`${name.padEnd(62)} ${result.padStart(12)}   ${target}`);
}

const formatMilliseconds = (value) => `${value.toFixed(0)} ms`;

/** Waits until a newly started browser has finished loading its own start page. */
async function waitUntilIdle() {
  const session = await browser.newBrowserCDPSession();
  const usedCpuTime = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  for (let [before, turn] = [await usedCpuTime(), 0]; turn < 40; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const now = await usedCpuTime();
    if (now - before < 0.02) break;
    before = now;
  }
  await session.detach();
}

/**
 * Returns the time from the start of the navigation until an element that matches is painted, without a cache. The
 * page measures it itself: polling from outside would run script in the page.
 */
async function firstPaint(page, address, selector) {
  await page.addInitScript((target) => {
    const check = () => {
      if (!document.querySelector(target)) return requestAnimationFrame(check);
      requestAnimationFrame(() => console.debug(`painted ${performance.now()}`));
    };
    requestAnimationFrame(check);
  }, selector);
  const painted = page.waitForEvent("console", (message) => message.text().startsWith("painted "));
  await page.goto(address);
  return Number((await painted).text().slice("painted ".length));
}

/** Scrolls through the log for eight seconds and returns the times between frames. */
async function scroll(page, step) {
  return page.evaluate(async (by) => {
    const element = document.getElementById("log-lines");
    const frames = [];
    let last = performance.now();
    const until = last + 8_000;
    let scrolledLines = 0;
    while (performance.now() < until) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      frames.push(now - last);
      last = now;
      const before = element.scrollTop;
      element.scrollTop = before + by;
      scrolledLines += Math.abs(element.scrollTop - before) / 20;
    }
    frames.sort((a, b) => a - b);
    return {
      longest: frames.at(-1),
      percentile99: frames[Math.floor(frames.length * 0.99)],
      lines: Math.round(scrolledLines),
    };
  }, step);
}

/** Returns the memory of scripts and document in megabytes, after a garbage collection. */
async function usedMemory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const {
    usedSize,
    embedderHeapUsedSize = 0,
    backingStorageSize = 0,
  } = await session.send("Runtime.getHeapUsage");
  return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6;
}

/** Returns the time from a click on the trigger button until the row shows the update. */
async function triggerLatency(address, name) {
  const page = await newPage();
  await page.goto(`${address}/overview`);
  // Wait for all rows: rendering them is measured separately.
  await page.waitForFunction(
    (count) => document.querySelectorAll("tr[data-resource]").length > count,
    RESOURCES,
  );
  const took = await page.evaluate(async (resource) => {
    const row = document.querySelector(`tr[data-resource="${resource}"]`);
    const changed = new Promise((resolve) => {
      new MutationObserver(() => {
        if (row.textContent.includes("Updating")) requestAnimationFrame(() => resolve(performance.now()));
      }).observe(row, { subtree: true, childList: true, characterData: true });
    });
    const clickedAt = performance.now();
    row.querySelector(".trigger").click();
    return (await changed) - clickedAt;
  }, name);
  await page.close();
  return took;
}

const browser = await launchBrowser();
const newPage = async () => (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();

console.log(`${sampleBinary}\n`);
const idleSession = await startSample(RESOURCES, LINES, false);
await waitUntilIdle();
const paints = [];
let page;
// A row is useful once it shows the status.
for (let turn = 0; turn < 5; turn++) {
  page = await newPage();
  paints.push(await firstPaint(page, `${idleSession.address}/overview`, "tr[data-resource] .status"));
  await page.context().close();
}
paints.sort((a, b) => a - b);
report("first useful paint, 1,000 resources, 1 million lines", formatMilliseconds(paints[2]), "400 ms");
report("first useful paint, the slowest of five", formatMilliseconds(paints[4]), "");

page = await newPage();
const lines = await firstPaint(page, `${idleSession.address}/r/(all)/overview`, ".line");
report("first lines of the log", formatMilliseconds(lines), "");
await page.locator("#log-lines").focus();
for (const [name, step] of [
  ["slow", -40],
  ["by the wheel", -400],
  ["wild", -2_000],
]) {
  const { longest, percentile99, lines } = await scroll(page, step);
  report(
    `scroll, ${name}: longest frame of ${lines.toLocaleString()} lines`,
    formatMilliseconds(longest),
    "32 ms",
  );
  report(`scroll, ${name}: 99 of 100 frames within`, formatMilliseconds(percentile99), "");
}
for (let part = 0; part <= 10; part++) {
  const box = await page.getByRole("scrollbar").boundingBox();
  await page.mouse.click(box.x + 5, box.y + (box.height - 1) * (part / 10));
  await page.waitForTimeout(100);
}
report("memory of the page after that", `${(await usedMemory(page)).toFixed(0)} MB`, "150 MB");

report(
  "made up: a click, the change in the store, and visible",
  formatMilliseconds(await triggerLatency(idleSession.address, "api")),
  "100 ms",
);
await idleSession.stop();

if (liltBinary) {
  // The click goes to the session's loop, which starts a command and commits the status.
  const realSession = await startLilt(RESOURCES);
  report(
    "real session: a click, the update begun, and visible",
    formatMilliseconds(await triggerLatency(realSession.address, "r0")),
    "100 ms",
  );
  await realSession.stop();
} else {
  report("real session: lilt is not built (cargo build --release -p lilt-cli)", "", "100 ms");
}

const busySession = await startSample(RESOURCES, LINES, true);
page = await newPage();
let closed = 0;
page.on("websocket", (socket) => socket.on("close", () => closed++));
await page.goto(`${busySession.address}/overview`);
await page.locator("tr[data-resource=api]").waitFor();
const delays = await page.evaluate(async (seconds) => {
  const latencies = [];
  const star = document.querySelector("tr[data-resource=api] .star");
  for (let turn = 0; turn < seconds * 5; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const begin = performance.now();
    // Like a mouse click, it waits for what the page is doing.
    await new Promise((resolve) => setTimeout(resolve, 0));
    star.click();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    latencies.push(performance.now() - begin);
  }
  return latencies.sort((a, b) => a - b);
}, CHANGES_SECONDS);
report(
  "1,000 resources change 10 times a second: longest click",
  formatMilliseconds(delays.at(-1)),
  "100 ms",
);
report(
  "1,000 resources change 10 times a second: usual click",
  formatMilliseconds(delays[delays.length >> 1]),
  "",
);
report("connections lost in that time", String(closed), "0");
await page.close();
await busySession.stop();

const assets = join(import.meta.dirname, "../dist/assets");
const size = readdirSync(assets)
  .filter((name) => name.endsWith(".js.gz"))
  .reduce((sum, name) => sum + statSync(join(assets, name)).size, 0);
report("JavaScript, compressed", `${(size / 1000).toFixed(0)} kB`, "100 kB");
await browser.close();
