/** The resources that the reader has starred, remembered for each project. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";

export const stars = signal<readonly string[]>([]);

let settingKey = "stars";

/** Those of another project are others. */
export function loadStars(project: string): void {
  settingKey = `stars.${project}`;
  stars.value = loadSetting<readonly string[]>(settingKey, []);
}

export function toggleStar(name: string): void {
  const current = stars.peek();
  stars.value = current.includes(name) ? current.filter((other) => other !== name) : [...current, name];
  saveSetting(settingKey, stars.peek());
}
