/** Keyboard shortcuts. They are off while the user types; those of a single letter can be switched off. */

import { signal } from "@preact/signals";
import { logActions } from "../logs/logActions";
import { changeTextSize, toggleDisplayOption } from "../logs/displayOptions";
import { openUrl, safeUrl } from "../model/endpoint";
import { nameFilter, statusFilter } from "../model/listSettings";
import { loadSetting, saveSetting } from "../model/savedSettings";
import { togglePanel } from "../model/resourcePanel";
import { navigate, route, lastVisited } from "../model/route";
import { selection, clearSelection, toggleSelected } from "../model/selection";
import { toggleStar } from "../model/stars";
import { isHelpOpen, isPaletteOpen } from "./openDialogs";
import { triggerUpdate } from "./actions";
import { session } from "./appState";

/** Single-letter shortcuts get in the way of voice control and of accidental key presses. */
export const singleKeysEnabled = signal(loadSetting("keys", true));

export function setSingleKeysEnabled(on: boolean): void {
  singleKeysEnabled.value = on;
  saveSetting("keys", on);
}

export interface Shortcut {
  key: string;
  /** How the help shows the key, if not as `key`. */
  display?: string;
  description: string;
  run: () => void;
  /** While this returns false, the key keeps the browser's default behaviour. */
  isAvailable?: () => boolean;
}

const inOverview = () => route.peek().view === "overview";
const inResourceView = () => route.peek().view === "resource";
const hasLog = () => logActions.moveCursor !== undefined;

export const shortcuts: readonly Shortcut[] = [
  { key: "o", description: "Overview", run: () => navigate({ view: "overview" }) },
  { key: "l", description: "All logs", run: () => navigate({ view: "logs" }) },
  { key: "j", description: "Next resource", run: () => moveBy(1) },
  { key: "k", description: "Previous resource", run: () => moveBy(-1) },
  { key: "r", description: "Update the shown or focused resource now", run: triggerCurrentResource },
  { key: "s", description: "Star the shown or focused resource", run: starCurrentResource },
  {
    key: "x",
    description: "Select the focused resource",
    run: selectFocusedResource,
    isAvailable: inOverview,
  },
  { key: "w", description: "Why and when", run: () => togglePanel("why"), isAvailable: inResourceView },
  { key: "c", description: "In the cluster", run: () => togglePanel("cluster"), isAvailable: inResourceView },
  {
    key: "/",
    description: "Filter",
    run: () => document.querySelector<HTMLInputElement>("[data-filter]")?.focus(),
  },
  {
    key: "f",
    description: "Follow the end of the log",
    run: () => logActions.follow?.(),
    isAvailable: hasLog,
  },
  {
    key: "n",
    description: "Next match in the log",
    run: () => logActions.jump?.("next match"),
    isAvailable: hasLog,
  },
  {
    key: "N",
    description: "Previous match in the log",
    run: () => logActions.jump?.("previous match"),
    isAvailable: hasLog,
  },
  {
    key: "e",
    description: "Next error in the log",
    run: () => logActions.jump?.("next error"),
    isAvailable: hasLog,
  },
  {
    key: "E",
    description: "Previous error in the log",
    run: () => logActions.jump?.("previous error"),
    isAvailable: hasLog,
  },
  {
    key: "ArrowDown",
    display: "↓",
    description: "Next line of the log",
    run: () => logActions.moveCursor?.(1),
    isAvailable: arrowsMoveInLog,
  },
  {
    key: "ArrowUp",
    display: "↑",
    description: "Previous line of the log",
    run: () => logActions.moveCursor?.(-1),
    isAvailable: arrowsMoveInLog,
  },
  {
    key: "Enter",
    description: "Fields, or the rest, of that line",
    run: () => logActions.expandLine?.(),
    isAvailable: logLinesHaveFocus,
  },
  {
    key: "y",
    description: "Copy the link to that line",
    run: () => logActions.copyLineLink?.(),
    isAvailable: hasLog,
  },
  { key: "T", description: "Times in the log", run: () => toggleDisplayOption("times"), isAvailable: hasLog },
  { key: "W", description: "Wrap long lines", run: () => toggleDisplayOption("wrap"), isAvailable: hasLog },
  { key: "+", description: "Larger letters in the log", run: () => changeTextSize(1), isAvailable: hasLog },
  { key: "-", description: "Smaller letters in the log", run: () => changeTextSize(-1), isAvailable: hasLog },
  {
    key: "J",
    description: "JSON lines as fields",
    run: () => toggleDisplayOption("structured"),
    isAvailable: hasLog,
  },
  {
    key: "Escape",
    display: "Esc",
    description: "Clear the filter; leave it; back to the overview",
    run: goBack,
  },
  { key: "?", description: "This help", run: () => (isHelpOpen.value = !isHelpOpen.value) },
];

/** Shortcuts that need a modifier or a certain field, for the help; handled in `startShortcuts` and `runShortcut`. */
export const keyCombinations: readonly { display: string; description: string }[] = [
  { display: "Ctrl K", description: "Commands" },
  { display: "Enter", description: "In a filter of resources: leave the field and keep the filter" },
  { display: "Shift 1–9", description: "Open an endpoint of the resource" },
  { display: "Ctrl ⌫", description: "Clear the log" },
];

export function startShortcuts(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.peek();
      return;
    }
    const target = event.target as HTMLElement;
    if (target.matches("input:not([type=checkbox]), textarea, select")) {
      if (event.key === "Escape") clearOrLeaveField(event, target as HTMLInputElement);
      // Keeps the filter, so that j and k move through the filtered rows. In the log's filter, Enter jumps to a
      // match.
      else if (event.key === "Enter" && target.matches("[type=search]") && !target.closest("dialog"))
        target.blur();
      return;
    }
    // An open dialog handles its own keys.
    const dialog = document.querySelector("dialog[open]") !== null;
    if (dialog && !(isHelpOpen.peek() && event.key === "?")) return;
    if (runShortcut(event)) event.preventDefault();
  });
}

/** Clears a search field that holds text on Escape, and leaves one that is empty. Dialogs close themselves. */
function clearOrLeaveField(event: KeyboardEvent, field: HTMLInputElement): void {
  if (field.closest("dialog")) return;
  event.preventDefault();
  if (field.type !== "search" || field.value === "") {
    field.blur();
    return;
  }
  field.value = "";
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Runs the shortcut of a key. Returns false if there is none. */
function runShortcut(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key !== "Backspace" || event.altKey || !logActions.clear) return false;
    logActions.clear();
    return true;
  }
  if (event.key.length === 1 && !singleKeysEnabled.peek()) return false;
  // `code` is the position on the keyboard: the character that Shift and a digit produce depends on the layout.
  const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
  if (digit !== undefined && event.shiftKey && openEndpoint(Number(digit))) return true;
  const action = shortcuts.find(({ key }) => key === event.key);
  if (!action || action.isAvailable?.() === false) return false;
  action.run();
  return true;
}

function focusedIn(selector: string): boolean {
  const focused = document.activeElement;
  return focused === null || focused === document.body || focused.matches(selector);
}

/** Returns whether arrow keys move the line cursor: something outside the log may have the focus. */
function arrowsMoveInLog(): boolean {
  return hasLog() && focusedIn("#log-lines, #log-lines *");
}

/** Returns whether the log itself has the focus: links and buttons in a line handle Enter themselves. */
function logLinesHaveFocus(): boolean {
  return hasLog() && focusedIn("#log-lines");
}

function goBack(): void {
  if (logActions.clearFilter?.()) return;
  if (!inOverview()) navigate({ view: "overview" });
  else if (selection.peek().size > 0) clearSelection();
  else {
    nameFilter.value = "";
    statusFilter.value = undefined;
  }
}

/** Returns the resource of the row that has the focus in the overview. */
function focusedResource(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-resource]")?.dataset["resource"];
}

function moveBy(by: number): void {
  if (inOverview()) moveRowFocus(by);
  else moveToResource(by);
}

function moveRowFocus(by: number): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("tr[data-resource] a.name")];
  const row = document.activeElement?.closest("tr");
  const focused = links.findIndex((link) => link.closest("tr") === row);
  // Without a focused row, continues from the resource that was visited last.
  const last = links.find(
    (link) => link.closest<HTMLElement>("tr")?.dataset["resource"] === lastVisited.name,
  );
  const next = focused >= 0 ? links[focused + by] : (last ?? links.at(by > 0 ? 0 : -1));
  next?.focus();
  // The focus renders the rows around it in full, which may change their heights: scroll after that.
  requestAnimationFrame(() => requestAnimationFrame(() => next?.scrollIntoView({ block: "nearest" })));
}

/** Moves through the resources of the sidebar, in the order and with the filter that it shows. */
function moveToResource(by: number): void {
  const current = route.peek();
  const items = [...document.querySelectorAll<HTMLElement>(".sidebar [data-name]")];
  // A resource may be in several groups.
  const names = [...new Set(items.map((item) => item.dataset["name"] ?? ""))];
  const index = current.view === "resource" ? names.indexOf(current.name) : -1;
  const next = names[index + by];
  if (next !== undefined) navigate({ view: "resource", name: next });
  else if (index + by < 0) navigate({ view: "logs" });
}

function currentResource(): string | undefined {
  const current = route.peek();
  return current.view === "resource" ? current.name : focusedResource();
}

function triggerCurrentResource(): void {
  const name = currentResource();
  if (name !== undefined) triggerUpdate(name);
}

function starCurrentResource(): void {
  const name = currentResource();
  if (name !== undefined) toggleStar(name);
}

function selectFocusedResource(): void {
  const name = focusedResource();
  if (name !== undefined) toggleSelected(name);
}

function openEndpoint(number: number): boolean {
  const name = currentResource();
  const links = name === undefined ? [] : (session.resource(name)?.peek().status.endpointLinks ?? []);
  const href = links.map(safeUrl).filter((address) => address !== undefined)[number - 1];
  if (href === undefined) return false;
  openUrl(href);
  return true;
}
