/** How lines are shown; remembered by the browser. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "../model/savedSettings";
import { labelWidth, NameLabels, type LabelWidth } from "./nameLabels";

export interface DisplayOptions {
  showTimes: boolean;
  wrap: boolean;
  /** JSON objects as message and fields. */
  parseJson: boolean;
  /** Labels that say whose line it is; undefined where all lines are of one resource. */
  nameLabels: NameLabels | undefined;
  highlight: RegExp | undefined;
  /** The text that is searched for, in small letters; of an expression nothing. */
  searchText: string;
  /** Where the permanent link to a line leads, without its number. */
  lineUrl: string;
}

/** On a small screen there is no room for them, unless somebody wants them. */
const isWideScreen = !globalThis.matchMedia?.("(max-width: 680px)").matches;

/** The labels of each width, as long as the page is open. */
const labelsByWidth = new Map<LabelWidth, NameLabels>();

function labelsOfWidth(width: LabelWidth): NameLabels {
  const labels = labelsByWidth.get(width) ?? new NameLabels(width);
  labelsByWidth.set(width, labels);
  return labels;
}

/** The labels of resources that fit on the screen. */
export const currentNameLabels = signal(labelsOfWidth(labelWidth(globalThis.innerWidth ?? Infinity)));
globalThis.addEventListener?.(
  "resize",
  () => (currentNameLabels.value = labelsOfWidth(labelWidth(innerWidth))),
);

export const showTimes = signal(loadSetting("times", isWideScreen));
export const wrapLines = signal(loadSetting("wrap", false));
export const parseJson = signal(loadSetting("structured", true));

export const displayToggles = [
  { name: "times", title: "Times", key: "T", setting: showTimes },
  { name: "wrap", title: "Wrap", key: "W", setting: wrapLines },
  { name: "structured", title: "JSON", key: "J", setting: parseJson },
] as const;

export function toggleDisplayOption(name: (typeof displayToggles)[number]["name"]): void {
  const found = displayToggles.find((choice) => choice.name === name);
  if (!found) return;
  found.setting.value = !found.setting.peek();
  saveSetting(name, found.setting.peek());
}

/** In pixels. Rows are of one height, into which the largest fit. */
export const textSizes = [
  { name: "small", label: "Small letters", pixels: 11 },
  { name: "normal", label: "Normal letters", pixels: 12.5 },
  { name: "large", label: "Large letters", pixels: 14 },
  { name: "largest", label: "Largest letters", pixels: 16 },
] as const;

export type TextSize = (typeof textSizes)[number]["name"];

const DEFAULT_SIZE = 1;

export const textSize = signal<TextSize>(loadSetting("size", textSizes[DEFAULT_SIZE].name));

const sizeIndex = () => textSizes.findIndex(({ name }) => name === textSize.value);

/** What was remembered may be of another lilt. */
export function pixels(): number {
  return (textSizes[sizeIndex()] ?? textSizes[DEFAULT_SIZE]).pixels;
}

export function setTextSize(next: TextSize): void {
  textSize.value = next;
  saveSetting("size", next);
}

export function changeTextSize(by: 1 | -1): void {
  const next = textSizes[sizeIndex() + by];
  if (next) setTextSize(next.name);
}
