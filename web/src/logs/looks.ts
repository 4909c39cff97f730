/** How lines are shown; remembered by the browser. */

import { signal } from "@preact/signals";
import { recall, remember } from "../model/memory";

export interface Looks {
  times: boolean;
  wrap: boolean;
  /** JSON objects as message and fields. */
  structured: boolean;
  /** Whose line it is. */
  names: boolean;
  marker: RegExp | undefined;
  /** The text that is searched for, in small letters; of an expression nothing. */
  sought: string;
  /** Where the permanent link to a line leads, without its number. */
  link: string;
}

/** On a small screen there is no room for them, unless somebody wants them. */
const roomy = !globalThis.matchMedia?.("(max-width: 680px)").matches;

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
