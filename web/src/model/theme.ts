/** Light or dark colours: the system's choice unless the user chooses one. */

import { effect, signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";

export const themes = ["system", "light", "dark"] as const;

export type Theme = (typeof themes)[number];

export const themeLabels: Record<Theme, string> = { system: "As the system", light: "Light", dark: "Dark" };

export const theme = signal<Theme>(loadSetting("theme", "system"));

export function setTheme(next: Theme): void {
  theme.value = next;
  saveSetting("theme", next);
}

export function startTheme(): void {
  effect(() => {
    // Read by base.css.
    document.documentElement.dataset["theme"] = theme.value;
  });
}
