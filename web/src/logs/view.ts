/** The lines of a buffer that match a filter, kept up to date as lines come. */

import { signal, type ReadonlySignal } from "@preact/signals";
import type { Level, Line, Source } from "../generated/protocol";
import { strip } from "./ansi";
import type { LogBuffer } from "./buffer";

export interface LogFilter {
  /** None: all resources. */
  resource?: string | undefined;
  source?: Source | undefined;
  /** This level and worse. */
  level?: Level | undefined;
  /** Without regard to case. */
  text?: string | undefined;
}

const rank: Record<Level, number> = { info: 0, warn: 1, error: 2 };

export function matcher(filter: LogFilter): (line: Line) => boolean {
  const text = filter.text?.toLowerCase() ?? "";
  const least = rank[filter.level ?? "info"];
  return (line) =>
    (filter.resource === undefined || line.resource === filter.resource) &&
    (filter.source === undefined || line.source === filter.source) &&
    rank[line.level] >= least &&
    (text === "" || strip(line.text).toLowerCase().includes(text));
}

/** Pieces are not put together beyond this length. A row draws only the beginning of a long line (see LogRow). */
const LONGEST_ROW = 16 * 1024 * 1024;

/** Adds a line; a further piece of the last one is put together with it. */
function put(lines: Line[], line: Line): void {
  const last = lines.at(-1);
  const together =
    line.continues === true &&
    last?.open === true &&
    last.span === line.span &&
    last.text.length + line.text.length <= LONGEST_ROW;
  if (together) {
    lines[lines.length - 1] = { ...last, text: last.text + line.text, open: line.open ?? false };
  } else if (line.continues !== true || line.text !== "") {
    lines.push(line);
  }
}

function rows(lines: readonly Line[], matches: (line: Line) => boolean): Line[] {
  const found: Line[] = [];
  for (const line of lines) {
    if (matches(line)) {
      put(found, line);
    }
  }
  return found;
}

export interface LogView {
  /** Grows in place: read it after `version` changed. */
  readonly lines: readonly Line[];
  readonly version: ReadonlySignal<number>;
  /** How many lines have been put in front so far, less those dropped there: what a scroll position must move by. */
  readonly shift: number;
  close(): void;
}

export function openView(buffer: LogBuffer, filter: LogFilter): LogView {
  const matches = matcher(filter);
  const version = signal(0);
  const view = {
    lines: rows(buffer.lines, matches),
    version,
    shift: 0,
    close: () => {},
  };
  const changed = () => {
    version.value++;
  };
  view.close = buffer.listen({
    appended(lines) {
      let found = false;
      for (const line of lines) {
        if (matches(line)) {
          put(view.lines, line);
          found = true;
        }
      }
      if (found) {
        changed();
      }
    },
    prepended(lines) {
      const found = rows(lines, matches);
      view.lines = [...found, ...view.lines];
      view.shift += found.length;
      changed();
    },
    dropped(first) {
      const kept = view.lines.findIndex((line) => line.seq >= first);
      const gone = kept < 0 ? view.lines.length : kept;
      if (gone > 0) {
        view.lines = view.lines.slice(gone);
        view.shift -= gone;
        changed();
      }
    },
    cleared() {
      view.lines = [];
      view.shift = 0;
      changed();
    },
  });
  return view;
}
