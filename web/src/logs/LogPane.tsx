/** A log with its filters. Only the lines in sight are in the document. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Level, Source } from "../generated/protocol";
import { askForEarlierLines, earlierLines, log } from "../page";
import { recall, remember } from "../model/memory";
import { LogRow } from "./LogRow";
import { openView, type LogView } from "./view";
import { LINE_HEIGHT, useRows } from "./rows";

/** This close to the end counts as being there. */
const NEAR_END = LINE_HEIGHT * 1.5;

export function LogPane({ resource }: { resource: string | undefined }) {
  const text = useSignal("");
  const level = useSignal<Level>("info");
  const source = useSignal<Source | "">("");
  const times = useSignal(recall("times", true));
  const filter = {
    resource,
    text: text.value,
    level: level.value,
    source: source.value === "" ? undefined : source.value,
  };
  const view = useMemo(() => openView(log, filter), [resource, text.value, level.value, source.value]);
  useLayoutEffect(() => view.close, [view]);
  return (
    <section class="log" aria-label={resource ? `Log of ${resource}` : "Log of all resources"}>
      <div class="toolbar">
        <input
          type="search"
          data-filter
          placeholder="Filter lines"
          aria-label="Filter lines by text"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <select
          aria-label="Level"
          value={level.value}
          onChange={(event) => (level.value = event.currentTarget.value as Level)}
        >
          <option value="info">All levels</option>
          <option value="warn">Warnings and errors</option>
          <option value="error">Errors</option>
        </select>
        <select
          aria-label="Source"
          value={source.value}
          onChange={(event) => (source.value = event.currentTarget.value as Source | "")}
        >
          <option value="">Build and runtime</option>
          <option value="build">Build</option>
          <option value="runtime">Runtime</option>
        </select>
        <label class="check">
          <input
            type="checkbox"
            checked={times.value}
            onChange={(event) => {
              times.value = event.currentTarget.checked;
              remember("times", times.value);
            }}
          />
          Times
        </label>
      </div>
      <Lines view={view} searched={text.value} times={times.value} names={resource === undefined} />
    </section>
  );
}

interface LinesProperties {
  view: LogView;
  searched: string;
  times: boolean;
  names: boolean;
}

function Lines({ view, searched, times, names }: LinesProperties) {
  const scroller = useRef<HTMLDivElement>(null);
  const following = useSignal(true);
  // How things were when this was last drawn; `pinned` is where following had put the scroll position.
  const drawn = useRef({ view, shift: view.shift, pinned: 0 });
  view.version.value;
  const rows = useRows(scroller, view.lines.length);

  // Before the browser draws: stay at the end, or stay with the lines that are being read.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const known = drawn.current;
    const moved = known.view === view ? view.shift - known.shift : 0;
    // The reader may have scrolled up already while the event that says so is still to come.
    const pinned = Math.min(known.pinned, element.scrollHeight - element.clientHeight);
    if (following.peek() && known.view === view && element.scrollTop < pinned - 1) following.value = false;
    if (following.peek()) element.scrollTop = element.scrollHeight;
    else if (moved !== 0) element.scrollTop += moved * LINE_HEIGHT;
    drawn.current = { view, shift: view.shift, pinned: following.peek() ? element.scrollTop : 0 };
  });

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    following.value = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    if (element.scrollTop < LINE_HEIGHT * 10 && !following.peek()) askForEarlierLines();
  };
  const follow = () => {
    drawn.current.pinned = 0;
    following.value = true;
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  const first = rows.items[0];
  return (
    <div class="log-frame">
      <div
        class="log-scroller"
        ref={scroller}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Lines"
        data-following={following.value}
        data-lines={view.lines.length}
      >
        <div class="log-content" style={{ height: `${rows.height}px` }}>
          <div class="log-window" style={{ transform: `translateY(${first?.start ?? 0}px)` }}>
            {rows.items.map((item) => {
              const line = view.lines[item.index];
              return line ? (
                <LogRow key={line.seq} line={line} searched={searched} times={times} names={names} />
              ) : null;
            })}
          </div>
        </div>
        {view.lines.length === 0 ? <p class="empty">{emptyWord(searched)}</p> : null}
      </div>
      {following.value ? null : (
        <button type="button" class="to-end" onClick={follow}>
          ↓ Follow
        </button>
      )}
      <Older lines={view.lines.length} />
    </div>
  );
}

function emptyWord(searched: string): string {
  return searched === "" ? "No lines yet." : "No line matches.";
}

/** A filter may leave so few lines that nothing can be scrolled: then older ones are asked for by a button. */
function Older({ lines }: { lines: number }) {
  const first = log.first;
  if (first === undefined || first === 0 || lines > 200 || earlierLines.value === "none") return null;
  return (
    <button
      type="button"
      class="older"
      disabled={earlierLines.value === "asked"}
      onClick={() => askForEarlierLines()}
    >
      Look in {first.toLocaleString()} older lines
    </button>
  );
}
