/** Dark or light: as the system has it, unless the reader wants it otherwise. */

import { effect, signal } from "@preact/signals";
import { recall, remember } from "./savedSettings";

export const themes = ["system", "light", "dark"] as const;

export type Theme = (typeof themes)[number];

export const themeWords: Record<Theme, string> = { system: "As the system", light: "Light", dark: "Dark" };

export const theme = signal<Theme>(recall("theme", "system"));

export function setTheme(wanted: Theme): void {
  theme.value = wanted;
  remember("theme", wanted);
}

export function startTheme(): void {
  effect(() => {
    // The styles look at it.
    document.documentElement.dataset["theme"] = theme.value;
  });
}
