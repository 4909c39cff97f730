/** What single keys do. Never while typing, never with a modifier. */

import { signal } from "@preact/signals";
import { go, route } from "./model/route";
import { shownLog } from "./logs/LogPane";
import { toggle } from "./logs/looks";
import { toggleStar } from "./model/stars";
import { paletteShown } from "./parts/Palette";
import { nameFilter, session, stateFilter, trigger } from "./page";

export const helpShown = signal(false);

export const keys: readonly { key: string; meaning: string; run: () => void }[] = [
  { key: "o", meaning: "Overview", run: () => go({ view: "overview" }) },
  { key: "l", meaning: "All logs", run: () => go({ view: "logs" }) },
  { key: "j", meaning: "Next resource", run: () => step(1) },
  { key: "k", meaning: "Previous resource", run: () => step(-1) },
  { key: "r", meaning: "Update the shown or focused resource now", run: triggerCurrent },
  { key: "s", meaning: "Star the shown or focused resource", run: starCurrent },
  {
    key: "/",
    meaning: "Filter",
    run: () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus(),
  },
  { key: "f", meaning: "Follow the end of the log", run: () => shownLog.follow?.() },
  { key: "n", meaning: "Next match in the log", run: () => shownLog.jump?.("next match") },
  { key: "N", meaning: "Previous match in the log", run: () => shownLog.jump?.("previous match") },
  { key: "e", meaning: "Next error in the log", run: () => shownLog.jump?.("next error") },
  { key: "E", meaning: "Previous error in the log", run: () => shownLog.jump?.("previous error") },
  { key: "T", meaning: "Times in the log", run: () => toggle("times") },
  { key: "W", meaning: "Wrap long lines", run: () => toggle("wrap") },
  { key: "J", meaning: "JSON lines as fields", run: () => toggle("structured") },
  { key: "Escape", meaning: "Leave the filter; clear it; back to the overview", run: leave },
  { key: "?", meaning: "This help", run: () => (helpShown.value = !helpShown.value) },
];

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      paletteShown.value = !paletteShown.peek();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const typing = target.matches("input, textarea, select");
    if (typing) {
      if (event.key === "Escape") target.blur();
      return;
    }
    // An open dialog deals with its own keys.
    const dialog = document.querySelector("dialog[open]") !== null;
    if (dialog && !(helpShown.peek() && event.key === "?")) return;
    const action = keys.find(({ key }) => key === event.key);
    if (action) {
      event.preventDefault();
      action.run();
    }
  });
}

function leave(): void {
  if (route.peek().view !== "overview") go({ view: "overview" });
  else {
    nameFilter.value = "";
    stateFilter.value = undefined;
  }
}

/** The row that has the focus, in the overview. */
function focusedName(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-resource]")?.dataset["resource"];
}

function step(by: number): void {
  const current = route.peek();
  if (current.view === "overview") {
    const links = [...document.querySelectorAll<HTMLAnchorElement>("tr[data-resource] a.name")];
    const row = document.activeElement?.closest("tr");
    const at = links.findIndex((link) => link.closest("tr") === row);
    const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
    links[next]?.focus();
    return;
  }
  const names = session.groups.peek().flatMap((group) => group.names);
  const at = current.view === "resource" ? names.indexOf(current.name) : -1;
  const next = names[at + by];
  if (next !== undefined) go({ view: "resource", name: next });
  else if (at + by < 0) go({ view: "logs" });
}

function currentName(): string | undefined {
  const current = route.peek();
  return current.view === "resource" ? current.name : focusedName();
}

function triggerCurrent(): void {
  const name = currentName();
  if (name !== undefined) trigger(name);
}

function starCurrent(): void {
  const name = currentName();
  if (name !== undefined) toggleStar(name);
}
