/** Debian's Chromium, as the tests use it. */

import { chromium } from "@playwright/test";

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
}
