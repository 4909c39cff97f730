/** What keys and the palette do with the log that is shown. All of it is undefined where none is. */

export type Jump = "next match" | "previous match" | "next error" | "previous error";

export interface ShownLog {
  jump: (what: Jump) => void;
  follow: () => void;
  clear: () => void;
  /** Shows all lines again; false if they are shown. */
  clearFilter: () => boolean;
  copy: () => void;
  download: () => void;
  /** To the line before or behind the current one. */
  step: (by: 1 | -1) => void;
  /** What there is more of the current line: its fields, the rest of a long one. */
  unfold: () => void;
  /** Copies the link to the current line. */
  link: () => void;
}

export const shownLog: Partial<ShownLog> = {};

/** Until the function that it gives back is called. */
export function offer(part: Partial<ShownLog>): () => void {
  Object.assign(shownLog, part);
  return () => {
    for (const name of Object.keys(part) as (keyof ShownLog)[]) {
      // Another log may have come already.
      if (shownLog[name] === part[name]) delete shownLog[name];
    }
  };
}
