/** Which of a resource's panels the reader wants to see beside its log. */

import { signal } from "@preact/signals";
import { recall, remember } from "./savedSettings";

const panels = ["none", "why", "cluster"] as const;

export type Panel = (typeof panels)[number];

export const panel = signal<Panel>(recall("panel", "none"));

/** The same one again closes it. */
export function choosePanel(wanted: Panel): void {
  panel.value = panel.peek() === wanted ? "none" : wanted;
  remember("panel", panel.peek());
}

/** Takes over what an address says; one that says nothing leaves it as the reader had it last. */
export function readPanel(search: string): void {
  const said = panels.find((known) => known === new URLSearchParams(search).get("panel"));
  if (said) panel.value = said;
}
