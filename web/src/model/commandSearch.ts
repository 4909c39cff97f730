/** Commands of the palette, and how they are found by what is typed. */

import type { Overall } from "./status";

export interface Command {
  words: string;
  /** Of the resource that it shows. */
  state?: Overall | undefined;
  key?: string | undefined;
  run: () => void;
}

/** All words that are typed must be there, in any order; what begins with the text comes first. */
export function found(commands: readonly Command[], text: string): Command[] {
  const typed = text.trim().toLowerCase();
  const parts = typed.split(/\s+/).filter((part) => part !== "");
  const matching = commands.filter(({ words }) => {
    const name = words.toLowerCase();
    return parts.every((part) => name.includes(part));
  });
  const rank = ({ words }: Command) => {
    const name = words.toLowerCase();
    return name === typed ? 0 : name.startsWith(typed) ? 1 : 2;
  };
  return matching
    .map((command, index) => ({ command, index, rank: rank(command) }))
    .sort((one, other) => one.rank - other.rank || one.index - other.index)
    .map(({ command }) => command);
}
