/** What shortcuts and the command palette can do with the open log. Without a log, all actions are undefined. */

export type JumpTarget = "next match" | "previous match" | "next error" | "previous error";

export interface LogActions {
  jump: (target: JumpTarget) => void;
  follow: () => void;
  clear: () => void;
  /** Shows all lines again. Returns false if they are shown already. */
  clearFilter: () => boolean;
  copy: () => void;
  download: () => void;
  /** Moves to the previous or next line. */
  moveCursor: (by: 1 | -1) => void;
  /** Expands the current line: its JSON fields, or the rest of a long line. */
  expandLine: () => void;
  /** Copies the link to the current line. */
  copyLineLink: () => void;
}

export const logActions: Partial<LogActions> = {};

/** Registers actions until the returned function is called. */
export function registerLogActions(part: Partial<LogActions>): () => void {
  Object.assign(logActions, part);
  return () => {
    for (const name of Object.keys(part) as (keyof LogActions)[]) {
      // The next log may have registered its own already.
      if (logActions[name] === part[name]) delete logActions[name];
    }
  };
}
