/**
 * The page's figures in Chromium, against a made-up session of 1,000 resources and a million lines: `npm run bench`.
 * It measures and prints, and asserts nothing: what a machine can do is no test of the code.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { lilt, sample, start, startDaemon } from "./sample.mjs";

const RESOURCES = 1_000;
const LINES = 1_000_000;
const STORM_SECONDS = 10;

const rows = [];
function tell(work, figure, most) {
  rows.push([work, figure, most]);
  console.log(`${work.padEnd(62)} ${figure.padStart(12)}   ${most}`);
}

const milliseconds = (value) => `${value.toFixed(0)} ms`;

/** A browser that has just started is busy with a start page of its own, which nobody sees. Waits until it is done. */
async function settled() {
  const session = await browser.newBrowserCDPSession();
  const used = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  for (let [before, turn] = [await used(), 0]; turn < 40; turn++) {
    await new Promise((done) => setTimeout(done, 250));
    const now = await used();
    if (now - before < 0.02) break;
    before = now;
  }
  await session.detach();
}

/**
 * From the beginning of the navigation until something that matches has been painted. Nothing is cached. The page tells it
 * by itself: who asks it meanwhile sends it script to run, which takes its time.
 */
async function firstPaint(page, address, selector) {
  await page.addInitScript((wanted) => {
    const look = () => {
      if (!document.querySelector(wanted)) return requestAnimationFrame(look);
      requestAnimationFrame(() => console.debug(`painted ${performance.now()}`));
    };
    requestAnimationFrame(look);
  }, selector);
  const told = page.waitForEvent("console", (message) => message.text().startsWith("painted "));
  await page.goto(address);
  return Number((await told).text().slice("painted ".length));
}

/** Scrolls for some seconds, through page after page of lines; the time between frames. */
async function scroll(page, step) {
  return page.evaluate(async (by) => {
    const element = document.getElementById("log-lines");
    const frames = [];
    let last = performance.now();
    const until = last + 8_000;
    let gone = 0;
    while (performance.now() < until) {
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      frames.push(now - last);
      last = now;
      const before = element.scrollTop;
      element.scrollTop = before + by;
      gone += Math.abs(element.scrollTop - before) / 20;
    }
    frames.sort((one, other) => one - other);
    return {
      longest: frames.at(-1),
      most: frames[Math.floor(frames.length * 0.99)],
      lines: Math.round(gone),
    };
  }, step);
}

/** What script and document take, after the browser has tidied up. */
async function memory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const {
    usedSize,
    embedderHeapUsedSize = 0,
    backingStorageSize = 0,
  } = await session.send("Runtime.getHeapUsage");
  return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6;
}

/** Presses the trigger button of a resource, and waits until its row says that it updates. */
async function clicked(address, name) {
  const page = await fresh();
  await page.goto(`${address}/overview`);
  // All rows are drawn: how long that takes is another figure.
  await page.waitForFunction(
    (count) => document.querySelectorAll("tr[data-resource]").length > count,
    RESOURCES,
  );
  const took = await page.evaluate(async (wanted) => {
    const row = document.querySelector(`tr[data-resource="${wanted}"]`);
    const changed = new Promise((done) => {
      new MutationObserver(() => {
        if (row.textContent.includes("Updating")) requestAnimationFrame(() => done(performance.now()));
      }).observe(row, { subtree: true, childList: true, characterData: true });
    });
    const asked = performance.now();
    row.querySelector(".trigger").click();
    return (await changed) - asked;
  }, name);
  await page.close();
  return took;
}

const browser = await launch();
const fresh = async () => (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();

console.log(`${sample}\n`);
const calm = await start(RESOURCES, LINES, false);
await settled();
const paints = [];
let page;
// A row is of use when it says how its resource is.
for (let turn = 0; turn < 5; turn++) {
  page = await fresh();
  paints.push(await firstPaint(page, `${calm.address}/overview`, "tr[data-resource] .status"));
  await page.context().close();
}
paints.sort((one, other) => one - other);
tell("first useful paint, 1,000 resources, 1 million lines", milliseconds(paints[2]), "400 ms");
tell("first useful paint, the slowest of five", milliseconds(paints[4]), "");

page = await fresh();
const lines = await firstPaint(page, `${calm.address}/r/(all)/overview`, ".line");
tell("first lines of the log", milliseconds(lines), "");
await page.locator("#log-lines").focus();
for (const [name, step] of [
  ["slow", -40],
  ["by the wheel", -400],
  ["wild", -2_000],
]) {
  const { longest, most, lines } = await scroll(page, step);
  tell(`scroll, ${name}: longest frame of ${lines.toLocaleString()} lines`, milliseconds(longest), "32 ms");
  tell(`scroll, ${name}: 99 of 100 frames within`, milliseconds(most), "");
}
for (let part = 0; part <= 10; part++) {
  const box = await page.getByRole("scrollbar").boundingBox();
  await page.mouse.click(box.x + 5, box.y + (box.height - 1) * (part / 10));
  await page.waitForTimeout(100);
}
tell("memory of the page after that", `${(await memory(page)).toFixed(0)} MB`, "150 MB");

tell(
  "made up: a click, the change in the store, and visible",
  milliseconds(await clicked(calm.address, "api")),
  "100 ms",
);
await calm.end();

if (lilt) {
  // The click goes to the session's loop, which starts a command and commits the status.
  const real = await startDaemon(RESOURCES);
  tell(
    "real session: a click, the update begun, and visible",
    milliseconds(await clicked(real.address, "r0")),
    "100 ms",
  );
  await real.end();
} else {
  tell("real session: lilt is not built (cargo build --release -p lilt-cli)", "", "100 ms");
}

const stormy = await start(RESOURCES, LINES, true);
page = await fresh();
let closed = 0;
page.on("websocket", (socket) => socket.on("close", () => closed++));
await page.goto(`${stormy.address}/overview`);
await page.locator("tr[data-resource=api]").waitFor();
const delays = await page.evaluate(async (seconds) => {
  const found = [];
  const star = document.querySelector("tr[data-resource=api] .star");
  for (let turn = 0; turn < seconds * 5; turn++) {
    await new Promise((done) => setTimeout(done, 200));
    const begin = performance.now();
    // As a click of the mouse it waits for what the page is doing.
    await new Promise((done) => setTimeout(done, 0));
    star.click();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    found.push(performance.now() - begin);
  }
  return found.sort((one, other) => one - other);
}, STORM_SECONDS);
tell("1,000 resources change 10 times a second: longest click", milliseconds(delays.at(-1)), "100 ms");
tell("1,000 resources change 10 times a second: usual click", milliseconds(delays[delays.length >> 1]), "");
tell("connections lost in that time", String(closed), "0");
await page.close();
await stormy.end();

const assets = join(import.meta.dirname, "../dist/assets");
const size = readdirSync(assets)
  .filter((name) => name.endsWith(".js.gz"))
  .reduce((sum, name) => sum + statSync(join(assets, name)).size, 0);
tell("JavaScript, compressed", `${(size / 1000).toFixed(0)} kB`, "100 kB");
await browser.close();
