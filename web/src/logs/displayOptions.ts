/** How lines are shown; remembered by the browser. */

import { signal } from "@preact/signals";
import { recall, remember } from "../model/savedSettings";
import { labelWidth, NameColumn, type LabelWidth } from "./nameLabels";

export interface Looks {
  times: boolean;
  wrap: boolean;
  /** JSON objects as message and fields. */
  structured: boolean;
  /** Labels that say whose line it is; undefined where all lines are of one resource. */
  names: NameColumn | undefined;
  marker: RegExp | undefined;
  /** The text that is searched for, in small letters; of an expression nothing. */
  sought: string;
  /** Where the permanent link to a line leads, without its number. */
  link: string;
}

/** On a small screen there is no room for them, unless somebody wants them. */
const roomy = !globalThis.matchMedia?.("(max-width: 680px)").matches;

/** The labels of each width, as long as the page is open. */
const columns = new Map<LabelWidth, NameColumn>();

function columnOf(width: LabelWidth): NameColumn {
  const column = columns.get(width) ?? new NameColumn(width);
  columns.set(width, column);
  return column;
}

/** The labels of resources that fit on the screen. */
export const nameColumn = signal(columnOf(labelWidth(globalThis.innerWidth ?? Infinity)));
globalThis.addEventListener?.("resize", () => (nameColumn.value = columnOf(labelWidth(innerWidth))));

export const times = signal(recall("times", roomy));
export const wrap = signal(recall("wrap", false));
export const structured = signal(recall("structured", true));

export const choices = [
  { name: "times", title: "Times", key: "T", choice: times },
  { name: "wrap", title: "Wrap", key: "W", choice: wrap },
  { name: "structured", title: "JSON", key: "J", choice: structured },
] as const;

export function toggle(name: (typeof choices)[number]["name"]): void {
  const found = choices.find((choice) => choice.name === name);
  if (!found) return;
  found.choice.value = !found.choice.peek();
  remember(name, found.choice.peek());
}

/** In pixels. Rows are of one height, into which the largest fit. */
export const letters = [
  { name: "small", words: "Small letters", pixels: 11 },
  { name: "normal", words: "Normal letters", pixels: 12.5 },
  { name: "large", words: "Large letters", pixels: 14 },
  { name: "largest", words: "Largest letters", pixels: 16 },
] as const;

export type Size = (typeof letters)[number]["name"];

const usual = 1;

export const size = signal<Size>(recall("size", letters[usual].name));

const place = () => letters.findIndex(({ name }) => name === size.value);

/** What was remembered may be of another lilt. */
export function pixels(): number {
  return (letters[place()] ?? letters[usual]).pixels;
}

export function setSize(wanted: Size): void {
  size.value = wanted;
  remember("size", wanted);
}

export function resize(by: 1 | -1): void {
  const next = letters[place() + by];
  if (next) setSize(next.name);
}
