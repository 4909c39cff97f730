/** The lines themselves. Only those in sight are in the document. */

import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Line } from "../generated/protocol";
import { formatExactTime } from "../model/time";
import { stripAnsi } from "./ansi";
import { selectedLogText } from "./copySelection";
import { nextCursorIndex } from "./lineCursor";
import { LoadErrors, EmptyLog } from "./LoadErrors";
import { LogFooter } from "./LogFooter";
import { INITIAL_LENGTH } from "./excerpt";
import { LogRow } from "./LogRow";
import { Rail } from "./LogScrollbar";
import { LINE_HEIGHT, rowTop, useVirtualRows, type VirtualRows } from "./useVirtualRows";
import type { DisplayOptions } from "./displayOptions";
import { registerLogActions } from "./logActions";
import { parseJsonLine } from "./jsonLine";
import { findRowIndex, type LogWindow } from "./logWindow";

/** This close to the end counts as being there. */
const NEAR_END = LINE_HEIGHT * 1.5;
/** So much is there beyond what is in sight before it is. */
const AHEAD = 3_000;

/** Of the current line, to those who listen. */
const MOST_SAID = 300;

interface Properties {
  window: LogWindow;
  looks: DisplayOptions;
  /** The line that is linked to. */
  target: Signal<number | undefined>;
  /** The line that keys are about. */
  cursor: Signal<number | undefined>;
  /** Where the reader wants to be; another one with every jump. */
  place: Signal<Place | undefined>;
  following: Signal<boolean>;
  empty: string;
  onJump: (seq: number) => void;
  onFollow: () => void;
  onField: (field: string) => void;
  onLink: (seq: number) => void;
}

export interface Place {
  seq: number;
}

/** What the reader has in sight. */
export interface Seen {
  first: number;
  last: number;
}

export function Lines({
  window,
  looks,
  target,
  cursor,
  place,
  following,
  empty,
  onJump,
  onFollow,
  onField,
  onLink,
}: Properties) {
  const scroller = useRef<HTMLDivElement>(null);
  /** How often more was wanted of a line. */
  const expanded = useSignal<ReadonlyMap<number, number>>(new Map());
  const seen = useSignal<Seen>({ first: 0, last: 0 });
  // How things were when this was last drawn: the first row in sight, and where it was.
  const anchor = useRef({
    window,
    version: -1,
    seq: 0,
    offset: 0,
    top: 0,
    pinned: 0,
    place: undefined as Place | undefined,
  });
  const version = window.version.value;
  const measured = looks.wrap || expanded.value.size > 0;
  const { rows, moved } = useVirtualRows(scroller, window.rows, version, measured);
  if (anchor.current.window === window && anchor.current.version !== version) {
    foresee(anchor.current, rows, window, following.peek());
  }
  const items = rows.getVirtualItems();
  const height = rows.getTotalSize();

  const look = () => {
    const element = scroller.current;
    if (!element) return;
    remember(anchor.current, element, rows, window.rows);
    // While another window is being filled, the place is that of the last one.
    if (window.rows.length > 0 || !window.loading.peek()) {
      seen.value = sight(element, rows, window.rows);
      // Not drawn with the rest: with every frame of a scroll that would be drawn twice.
      element.dataset["first"] = String(seen.peek().first);
    }
    const { scrollTop, clientHeight, scrollHeight } = element;
    if (scrollTop < AHEAD) void window.loadBefore();
    if (scrollHeight - scrollTop - clientHeight < AHEAD) void window.loadAfter();
  };

  // Before the browser draws: stay at the end, or stay with the lines that are being read.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const known = anchor.current;
    const other = known.window !== window;
    const end = element.scrollHeight - element.clientHeight;
    // The reader may have scrolled up already while the event that says so is still to come.
    if (!other && following.peek() && element.scrollTop < Math.min(known.pinned, end) - 1) {
      following.value = false;
    }
    const wanted = place.value;
    const at = wanted ? findRowIndex(window.rows, wanted.seq) : -1;
    if (wanted && wanted !== known.place) {
      const top = rowTop(rows, Math.max(0, at));
      // What is linked to is shown with what led to it.
      element.scrollTop = wanted.seq === target.peek() ? top - element.clientHeight / 3 : top;
      known.place = wanted;
    } else if (following.peek() && window.isAtEnd) {
      element.scrollTop = element.scrollHeight;
    } else if (!other) {
      const index = findRowIndex(window.rows, known.seq);
      // With what the reader has scrolled since, but not what the browser has for lack of lines.
      const moved = known.top > end ? 0 : element.scrollTop - known.top;
      if (index >= 0) element.scrollTop = rowTop(rows, index) - known.offset + moved;
    }
    anchor.current = { ...known, window, version, pinned: following.peek() ? element.scrollTop : 0 };
    look();
  }, [version, window, height, rows.scrollRect?.height, looks.wrap, place.value]);

  useEffect(() => {
    window.keepsOldRows = !following.value;
  }, [window, following.value]);

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    const end = element.scrollHeight - element.clientHeight;
    const known = anchor.current;
    // Less room moves the end away from a follower, who has not moved.
    const stays = following.peek() && element.scrollTop >= Math.min(known.pinned, end) - 1;
    // Until another window is filled, there is no end to be at.
    if (stays) element.scrollTop = window.isAtEnd ? end : element.scrollTop;
    // A scroll event that comes late must not undo a jump whose lines are still being fetched.
    else following.value = !window.isOpening && window.isAtEnd && end - element.scrollTop < NEAR_END;
    known.pinned = following.peek() ? element.scrollTop : 0;
    look();
    moved(element.scrollTop);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Home") onJump(0);
    else if (event.key === "End") onFollow();
    else return;
    event.preventDefault();
  };
  const clicked = (event: MouseEvent) => {
    const link = (event.target as Element).closest("a.time");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onLink(Number(link.closest<HTMLElement>(".line")?.dataset["seq"]));
  };
  const copied = (event: ClipboardEvent) => {
    const element = scroller.current;
    if (!element || !event.clipboardData) return;
    const text = selectedLogText(document.getSelection(), element, (seq) => lineAt(window.rows, seq));
    if (text === undefined) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  /** The exact time of a line is written out only for those who want to know it: that of thousands takes its time. */
  const explain = (event: Event) => {
    const link = (event.target as Element).closest<HTMLElement>("a.time:not([title])");
    const line = link && lineAt(window.rows, Number(link.closest<HTMLElement>(".line")?.dataset["seq"]));
    if (line) link.title = `${formatExactTime(line.time)}\nLink to this line`;
  };
  const toggle = (seq: number) => {
    const next = new Map(expanded.peek());
    if (!next.delete(seq)) next.set(seq, 1);
    expanded.value = next;
  };
  const more = (seq: number) => {
    expanded.value = new Map(expanded.peek()).set(seq, (expanded.peek().get(seq) ?? 0) + 1);
  };
  const moveCursor = (by: 1 | -1) => {
    const element = scroller.current;
    const index = nextCursorIndex(window.rows, cursor.peek(), seen.peek(), by);
    const line = window.rows[index];
    if (!element || !line) return;
    // Who goes from line to line reads.
    following.value = false;
    cursor.value = line.seq;
    const top = rowTop(rows, index);
    const bottom = top + (rows.measurementsCache[index]?.size ?? LINE_HEIGHT);
    const { scrollTop, clientHeight } = element;
    if (top < scrollTop) element.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) element.scrollTop = bottom - clientHeight;
  };
  const expandLine = () => {
    const line = lineAt(window.rows, cursor.peek());
    if (!line) return;
    // What is unfolded is reached with the tab key from here.
    scroller.current?.focus({ preventScroll: true });
    if (looks.parseJson && parseJsonLine(line)) toggle(line.seq);
    else if (line.text.length > INITIAL_LENGTH) more(line.seq);
  };
  // At once, not after the next frame as other effects: with every frame of a scroll that costs more than it does.
  useLayoutEffect(() => registerLogActions({ moveCursor, expandLine }));
  return (
    <>
      <LoadErrors window={window} parts={window.rows.length > 0 ? ["whole", "before"] : ["before"]} />
      <div class={`log-frame${looks.wrap ? " wraps" : ""}`}>
        <div
          class={`log-scroller${looks.wrap ? " wrap" : ""}`}
          id="log-lines"
          ref={scroller}
          onScroll={scrolled}
          onKeyDown={pressed}
          onClick={clicked}
          onCopy={copied}
          onPointerOver={explain}
          onFocusIn={explain}
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label="Lines"
          aria-busy={window.loading.value}
          data-following={following.value}
          data-lines={window.rows.length}
        >
          <div class="log-content" style={{ height: `${height}px` }}>
            {/* By padding, not moved as a whole: rows that stay are where they were, and need not be painted again. */}
            <div class="log-window" style={{ paddingTop: `${items[0]?.start ?? 0}px` }}>
              {items.map((item) => {
                const line = window.rows[item.index];
                return line ? (
                  <LogRow
                    key={line.seq}
                    line={line}
                    index={item.index}
                    looks={looks}
                    target={line.seq === target.value}
                    current={line.seq === cursor.value}
                    expanded={expanded.value.get(line.seq) ?? 0}
                    measure={measured ? rows.measureElement : undefined}
                    onToggle={toggle}
                    onMore={more}
                    onField={onField}
                  />
                ) : null;
              })}
            </div>
          </div>
          {window.rows.length === 0 ? <EmptyLog window={window} text={empty} /> : null}
        </div>
        <p class="hidden" role="status">
          {lineWords(lineAt(window.rows, cursor.value))}
        </p>
        <Rail seen={seen} onJump={onJump} onFollow={onFollow} />
      </div>
      <LoadErrors window={window} parts={["after"]} />
      <LogFooter following={following.value} onFollow={onFollow} />
    </>
  );
}

function lineAt(lines: readonly Line[], seq: number | undefined): Line | undefined {
  const line = seq === undefined ? undefined : lines[findRowIndex(lines, seq)];
  return line?.seq === seq ? line : undefined;
}

/** For those who listen. */
function lineWords(line: Line | undefined): string {
  return line
    ? `${line.level === "info" ? "" : `${line.level}: `}${stripAnsi(line.text).slice(0, MOST_SAID)}`
    : "";
}

/**
 * Lines came or went before those that are being read: these will be elsewhere, and are drawn there at once. Else others
 * would be drawn first, and all anew when the place is put right.
 */
function foresee(
  known: { seq: number; offset: number; top: number },
  rows: VirtualRows,
  window: LogWindow,
  following: boolean,
): void {
  if (rows.scrollOffset === null) return;
  const index = findRowIndex(window.rows, known.seq);
  if (following && window.isAtEnd) {
    rows.scrollOffset = Math.max(0, rows.getTotalSize() - (rows.scrollRect?.height ?? 0));
  } else if (index >= 0) {
    rows.scrollOffset = rowTop(rows, index) - known.offset + rows.scrollOffset - known.top;
  }
}

function remember(
  anchor: { seq: number; offset: number; top: number },
  element: HTMLDivElement,
  rows: VirtualRows,
  lines: readonly Line[],
): void {
  // By offset, not by what is drawn: that may be for where the reader was before.
  const first = rows.getVirtualItemForOffset(element.scrollTop);
  if (!first) return;
  anchor.seq = lines[first.index]?.seq ?? 0;
  anchor.offset = first.start - element.scrollTop;
  anchor.top = element.scrollTop;
}

function sight(element: HTMLDivElement, rows: VirtualRows, lines: readonly Line[]): Seen {
  const first = rows.getVirtualItemForOffset(element.scrollTop);
  const last = rows.getVirtualItemForOffset(element.scrollTop + element.clientHeight - 1);
  return {
    first: (first && lines[first.index]?.seq) ?? 0,
    last: (last && lines[last.index]?.seq) ?? 0,
  };
}
