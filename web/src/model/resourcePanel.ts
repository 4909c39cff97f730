/** Which panel of a resource is open above its log. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";

const panels = ["none", "why", "cluster"] as const;

export type Panel = (typeof panels)[number];

export const activePanel = signal<Panel>(loadSetting("panel", "none"));

/** Opens a panel; choosing the open one closes it. */
export function togglePanel(chosen: Panel): void {
  activePanel.value = activePanel.peek() === chosen ? "none" : chosen;
  saveSetting("panel", activePanel.peek());
}

/** Applies the panel of a URL. A URL without one leaves the panel as the user had it last. */
export function readPanelQuery(search: string): void {
  const requested = panels.find((name) => name === new URLSearchParams(search).get("panel"));
  if (requested) activePanel.value = requested;
}
