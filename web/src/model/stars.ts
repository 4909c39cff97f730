/** The resources that the reader has starred, remembered for each project. */

import { signal } from "@preact/signals";
import { recall, remember } from "./savedSettings";

export const stars = signal<readonly string[]>([]);

let key = "stars";

/** Those of another project are others. */
export function openStars(project: string): void {
  key = `stars.${project}`;
  stars.value = recall<readonly string[]>(key, []);
}

export function toggleStar(name: string): void {
  const now = stars.peek();
  stars.value = now.includes(name) ? now.filter((other) => other !== name) : [...now, name];
  remember(key, stars.peek());
}
