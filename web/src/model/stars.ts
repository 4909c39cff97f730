/** The starred resources, saved for each project. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";

export const stars = signal<readonly string[]>([]);

let settingKey = "stars";

/** Loads the stars of a project. */
export function loadStars(project: string): void {
  settingKey = `stars.${project}`;
  stars.value = loadSetting<readonly string[]>(settingKey, []);
}

export function toggleStar(name: string): void {
  const current = stars.peek();
  stars.value = current.includes(name) ? current.filter((other) => other !== name) : [...current, name];
  saveSetting(settingKey, stars.peek());
}
