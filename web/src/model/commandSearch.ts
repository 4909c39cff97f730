/** Commands of the command palette, and the search among them. */

import type { OverallStatus } from "./status";

export interface Command {
  label: string;
  /** The status of the resource that the command opens. */
  status?: OverallStatus | undefined;
  key?: string | undefined;
  run: () => void;
}

/** Returns the commands that contain all typed words, in any order. Those that start with the text come first. */
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
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ command }) => command);
}
