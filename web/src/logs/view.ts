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
    lines: buffer.lines.filter(matches),
    version,
    shift: 0,
    close: () => {},
  };
  const changed = () => {
    version.value++;
  };
  view.close = buffer.listen({
    appended(lines) {
      const before = view.lines.length;
      for (const line of lines) {
        if (matches(line)) {
          view.lines.push(line);
        }
      }
      if (view.lines.length > before) {
        changed();
      }
    },
    prepended(lines) {
      const found = lines.filter(matches);
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
