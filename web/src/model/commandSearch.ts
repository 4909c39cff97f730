/** Commands of the palette, and how they are found by what is typed. */

import type { OverallStatus } from "./status";

export interface Command {
  label: string;
  /** Of the resource that it shows. */
  state?: OverallStatus | undefined;
  key?: string | undefined;
  run: () => void;
}

/** All words that are typed must be there, in any order; what begins with the text comes first. */
export function searchCommands(commands: readonly Command[], text: string): Command[] {
  const typed = text.trim().toLowerCase();
  const parts = typed.split(/\s+/).filter((part) => part !== "");
  const matching = commands.filter(({ label }) => {
    const name = label.toLowerCase();
    return parts.every((part) => name.includes(part));
  });
  const rank = ({ label }: Command) => {
    const name = label.toLowerCase();
    return name === typed ? 0 : name.startsWith(typed) ? 1 : 2;
  };
  return matching
    .map((command, index) => ({ command, index, rank: rank(command) }))
    .sort((one, other) => one.rank - other.rank || one.index - other.index)
    .map(({ command }) => command);
}
