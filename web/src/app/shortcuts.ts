/** What keys do. Never while typing; single letters only as long as the reader wants them. */

import { signal } from "@preact/signals";
import { shownLog } from "../logs/logActions";
import { resize, toggle } from "../logs/displayOptions";
import { openAddress, safeAddress } from "../model/endpoint";
import { nameFilter, stateFilter } from "../model/listSettings";
import { recall, remember } from "../model/savedSettings";
import { choosePanel } from "../model/resourcePanel";
import { go, route, visited } from "../model/route";
import { selected, selectNone, toggleSelected } from "../model/selection";
import { toggleStar } from "../model/stars";
import { paletteShown } from "../components/CommandPalette";
import { session, trigger } from "./page";

export const helpShown = signal(false);

/** Who speaks to the computer, or often hits keys by mistake, may want to be without. */
export const singleKeys = signal(recall("keys", true));

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  remember("keys", on);
}

export interface Key {
  key: string;
  /** As it is written, if not like that. */
  words?: string;
  meaning: string;
  run: () => void;
  /** Without it the key is the browser's. */
  there?: () => boolean;
}

const inOverview = () => route.peek().view === "overview";
const ofResource = () => route.peek().view === "resource";
const inLog = () => shownLog.step !== undefined;

export const keys: readonly Key[] = [
  { key: "o", meaning: "Overview", run: () => go({ view: "overview" }) },
  { key: "l", meaning: "All logs", run: () => go({ view: "logs" }) },
  { key: "j", meaning: "Next resource", run: () => step(1) },
  { key: "k", meaning: "Previous resource", run: () => step(-1) },
  { key: "r", meaning: "Update the shown or focused resource now", run: triggerCurrent },
  { key: "s", meaning: "Star the shown or focused resource", run: starCurrent },
  { key: "x", meaning: "Select the focused resource", run: selectCurrent, there: inOverview },
  { key: "w", meaning: "Why and when", run: () => choosePanel("why"), there: ofResource },
  { key: "c", meaning: "In the cluster", run: () => choosePanel("cluster"), there: ofResource },
  {
    key: "/",
    meaning: "Filter",
    run: () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus(),
  },
  { key: "f", meaning: "Follow the end of the log", run: () => shownLog.follow?.(), there: inLog },
  { key: "n", meaning: "Next match in the log", run: () => shownLog.jump?.("next match"), there: inLog },
  {
    key: "N",
    meaning: "Previous match in the log",
    run: () => shownLog.jump?.("previous match"),
    there: inLog,
  },
  { key: "e", meaning: "Next error in the log", run: () => shownLog.jump?.("next error"), there: inLog },
  {
    key: "E",
    meaning: "Previous error in the log",
    run: () => shownLog.jump?.("previous error"),
    there: inLog,
  },
  {
    key: "ArrowDown",
    words: "↓",
    meaning: "Next line of the log",
    run: () => shownLog.step?.(1),
    there: nearLog,
  },
  {
    key: "ArrowUp",
    words: "↑",
    meaning: "Previous line of the log",
    run: () => shownLog.step?.(-1),
    there: nearLog,
  },
  {
    key: "Enter",
    meaning: "Fields, or the rest, of that line",
    run: () => shownLog.unfold?.(),
    there: atLog,
  },
  { key: "y", meaning: "Copy the link to that line", run: () => shownLog.link?.(), there: inLog },
  { key: "T", meaning: "Times in the log", run: () => toggle("times"), there: inLog },
  { key: "W", meaning: "Wrap long lines", run: () => toggle("wrap"), there: inLog },
  { key: "+", meaning: "Larger letters in the log", run: () => resize(1), there: inLog },
  { key: "-", meaning: "Smaller letters in the log", run: () => resize(-1), there: inLog },
  { key: "J", meaning: "JSON lines as fields", run: () => toggle("structured"), there: inLog },
  { key: "Escape", words: "Esc", meaning: "Clear the filter; leave it; back to the overview", run: leave },
  { key: "?", meaning: "This help", run: () => (helpShown.value = !helpShown.value) },
];

/** Those that are not one key alone. */
export const chords: readonly { words: string; meaning: string }[] = [
  { words: "Ctrl K", meaning: "Commands" },
  { words: "Enter", meaning: "In a filter of resources: leave the field and keep the filter" },
  { words: "Shift 1–9", meaning: "Open an endpoint of the resource" },
  { words: "Ctrl ⌫", meaning: "Clear the log" },
];

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      paletteShown.value = !paletteShown.peek();
      return;
    }
    const target = event.target as HTMLElement;
    if (target.matches("input:not([type=checkbox]), textarea, select")) {
      if (event.key === "Escape") leaveField(event, target as HTMLInputElement);
      // Keeps the filter, so that j and k go through what it left. The log's filter has its own use of Enter.
      else if (event.key === "Enter" && target.matches("[type=search]") && !target.closest("dialog"))
        target.blur();
      return;
    }
    // An open dialog deals with its own keys.
    const dialog = document.querySelector("dialog[open]") !== null;
    if (dialog && !(helpShown.peek() && event.key === "?")) return;
    if (actOn(event)) event.preventDefault();
  });
}

/** Escape clears a search field that holds text, and leaves one that is empty. Dialogs close themselves. */
function leaveField(event: KeyboardEvent, field: HTMLInputElement): void {
  if (field.closest("dialog")) return;
  event.preventDefault();
  if (field.type !== "search" || field.value === "") {
    field.blur();
    return;
  }
  field.value = "";
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** True: the key was for the page. */
function actOn(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key !== "Backspace" || event.altKey || !shownLog.clear) return false;
    shownLog.clear();
    return true;
  }
  if (event.key.length === 1 && !singleKeys.peek()) return false;
  // By its place on the keyboard: what is written there differs.
  const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
  if (digit !== undefined && event.shiftKey && openEndpoint(Number(digit))) return true;
  const action = keys.find(({ key }) => key === event.key);
  if (!action || action.there?.() === false) return false;
  action.run();
  return true;
}

function focusedIn(selector: string): boolean {
  const focused = document.activeElement;
  return focused === null || focused === document.body || focused.matches(selector);
}

/** Arrows are the log's unless something else has the focus. */
function nearLog(): boolean {
  return inLog() && focusedIn("#log-lines, #log-lines *");
}

/** Links and buttons in a line have their own use of Enter. */
function atLog(): boolean {
  return inLog() && focusedIn("#log-lines");
}

function leave(): void {
  if (shownLog.clearFilter?.()) return;
  if (!inOverview()) go({ view: "overview" });
  else if (selected.peek().size > 0) selectNone();
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
  if (inOverview()) stepRows(by);
  else stepResources(by);
}

function stepRows(by: number): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("tr[data-resource] a.name")];
  const row = document.activeElement?.closest("tr");
  const focused = links.findIndex((link) => link.closest("tr") === row);
  // From where one was, if one was somewhere.
  const last = links.find((link) => link.closest<HTMLElement>("tr")?.dataset["resource"] === visited.name);
  const next = focused >= 0 ? links[focused + by] : (last ?? links.at(by > 0 ? 0 : -1));
  next?.focus();
  // Rows that come into sight with it are drawn whole by then, and may be higher than they were thought to be.
  requestAnimationFrame(() => requestAnimationFrame(() => next?.scrollIntoView({ block: "nearest" })));
}

/** Through the list beside the log, as it is shown. */
function stepResources(by: number): void {
  const current = route.peek();
  const items = [...document.querySelectorAll<HTMLElement>(".side [data-name]")];
  // One may be in several groups.
  const names = [...new Set(items.map((item) => item.dataset["name"] ?? ""))];
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

function selectCurrent(): void {
  const name = focusedName();
  if (name !== undefined) toggleSelected(name);
}

function openEndpoint(number: number): boolean {
  const name = currentName();
  const links = name === undefined ? [] : (session.resource(name)?.peek().status.endpointLinks ?? []);
  const href = links.map(safeAddress).filter((address) => address !== undefined)[number - 1];
  if (href === undefined) return false;
  openAddress(href);
  return true;
}
