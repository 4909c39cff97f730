/** What keys and the palette do with the log that is shown. All of it is undefined where none is. */

export type JumpTarget = "next match" | "previous match" | "next error" | "previous error";

export interface LogActions {
  jump: (what: JumpTarget) => void;
  follow: () => void;
  clear: () => void;
  /** Shows all lines again; false if they are shown. */
  clearFilter: () => boolean;
  copy: () => void;
  download: () => void;
  /** To the line before or behind the current one. */
  moveCursor: (by: 1 | -1) => void;
  /** What there is more of the current line: its fields, the rest of a long one. */
  expandLine: () => void;
  /** Copies the link to the current line. */
  copyLineLink: () => void;
}

export const logActions: Partial<LogActions> = {};

/** Until the function that it gives back is called. */
export function registerLogActions(part: Partial<LogActions>): () => void {
  Object.assign(logActions, part);
  return () => {
    for (const name of Object.keys(part) as (keyof LogActions)[]) {
      // Another log may have come already.
      if (logActions[name] === part[name]) delete logActions[name];
    }
  };
}
