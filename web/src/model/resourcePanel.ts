/** Which of a resource's panels the reader wants to see beside its log. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";

const panels = ["none", "why", "cluster"] as const;

export type Panel = (typeof panels)[number];

export const activePanel = signal<Panel>(loadSetting("panel", "none"));

/** The same one again closes it. */
export function togglePanel(chosen: Panel): void {
  activePanel.value = activePanel.peek() === chosen ? "none" : chosen;
  saveSetting("panel", activePanel.peek());
}

/** Takes over what an address says; one that says nothing leaves it as the reader had it last. */
export function readPanelQuery(search: string): void {
  const requested = panels.find((known) => known === new URLSearchParams(search).get("panel"));
  if (requested) activePanel.value = requested;
}
