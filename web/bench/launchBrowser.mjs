/** Launches Debian's Chromium, the browser of the tests. */

import { chromium } from "@playwright/test";

export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
}
