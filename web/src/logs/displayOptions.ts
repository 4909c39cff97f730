/** How lines are displayed; saved by the browser. */

import { signal } from "@preact/signals";
import { loadSetting, saveSetting } from "../model/savedSettings";
import { labelWidth, NameLabels, type LabelWidth } from "./nameLabels";

export interface DisplayOptions {
  showTimes: boolean;
  wrap: boolean;
  /** Shows JSON objects as a message and fields. */
  parseJson: boolean;
  /** Labels of resource names; undefined if all lines belong to one resource. */
  nameLabels: NameLabels | undefined;
  highlight: RegExp | undefined;
  /** The search text in lower case; empty for a regular expression. */
  searchText: string;
  /** The query string of a link to a line, without the line's number. */
  lineUrl: string;
}

/** On small screens, times are off by default to save room. */
const isWideScreen = !globalThis.matchMedia?.("(max-width: 680px)").matches;

/** The labels of each width, kept as long as the page is open so that they stay the same. */
const labelsByWidth = new Map<LabelWidth, NameLabels>();

function labelsOfWidth(width: LabelWidth): NameLabels {
  const labels = labelsByWidth.get(width) ?? new NameLabels(width);
  labelsByWidth.set(width, labels);
  return labels;
}

/** The labels that fit the current width of the screen. */
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
  const toggle = displayToggles.find((toggle) => toggle.name === name);
  if (!toggle) return;
  toggle.setting.value = !toggle.setting.peek();
  saveSetting(name, toggle.setting.peek());
}

/** In pixels. All rows have the same height, which fits the largest size. */
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

/** The saved size may be one that this version of lilt does not know. */
export function textSizePixels(): number {
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
