/** The scrollable list of log lines. Only visible lines are in the document. */

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
import { LogScrollbar } from "./LogScrollbar";
import { LINE_HEIGHT, rowTop, useVirtualRows, type VirtualRows } from "./useVirtualRows";
import type { DisplayOptions } from "./displayOptions";
import { registerLogActions } from "./logActions";
import { parseJsonLine } from "./jsonLine";
import { findRowIndex, type LogWindow } from "./logWindow";

/** Scrolling to within this distance of the end follows the log. In pixels. */
const NEAR_END = LINE_HEIGHT * 1.5;
/** Lines are loaded when fewer pixels than this are left to scroll. */
const PRELOAD_DISTANCE = 3_000;

/** How much of the current line screen readers announce. */
const MAX_ANNOUNCED_LENGTH = 300;

interface Props {
  window: LogWindow;
  options: DisplayOptions;
  /** The line that the URL links to. */
  linkedSeq: Signal<number | undefined>;
  /** The current line, which the arrow keys move. */
  cursor: Signal<number | undefined>;
  /** The line to scroll to; a new object for every jump. */
  scrollTarget: Signal<ScrollTarget | undefined>;
  following: Signal<boolean>;
  emptyText: string;
  onJump: (seq: number) => void;
  onFollow: () => void;
  onField: (field: string) => void;
  onLink: (seq: number) => void;
}

export interface ScrollTarget {
  seq: number;
}

/** The first and the last visible line. */
export interface VisibleRange {
  first: number;
  last: number;
}

export function LogLines({
  window,
  options,
  linkedSeq,
  cursor,
  scrollTarget,
  following,
  emptyText,
  onJump,
  onFollow,
  onField,
  onLink,
}: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  /** How often each line was expanded. */
  const expandCounts = useSignal<ReadonlyMap<number, number>>(new Map());
  const visible = useSignal<VisibleRange>({ first: 0, last: 0 });
  // What the last render showed: the first visible row, its offset, and the scroll position.
  const anchor = useRef({
    window,
    version: -1,
    seq: 0,
    offset: 0,
    top: 0,
    followedTop: 0,
    scrollTarget: undefined as ScrollTarget | undefined,
  });
  const version = window.version.value;
  const isMeasured = options.wrap || expandCounts.value.size > 0;
  const { virtualRows, notifyScroll } = useVirtualRows(scroller, window.rows, version, isMeasured);
  if (anchor.current.window === window && anchor.current.version !== version) {
    predictScrollOffset(anchor.current, virtualRows, window, following.peek());
  }
  const items = virtualRows.getVirtualItems();
  const height = virtualRows.getTotalSize();

  const updateVisible = () => {
    const element = scroller.current;
    if (!element) return;
    updateAnchor(anchor.current, element, virtualRows, window.rows);
    // While another window is loading, the range is that of the last one.
    if (window.rows.length > 0 || !window.loading.peek()) {
      visible.value = visibleRange(element, virtualRows, window.rows);
      // Set directly, because a render with every frame of a scroll would be too slow.
      element.dataset["first"] = String(visible.peek().first);
    }
    const { scrollTop, clientHeight, scrollHeight } = element;
    if (scrollTop < PRELOAD_DISTANCE) void window.loadBefore();
    if (scrollHeight - scrollTop - clientHeight < PRELOAD_DISTANCE) void window.loadAfter();
  };

  // Before the next paint: stay at the end, or keep the visible lines where they are.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const last = anchor.current;
    const isNewWindow = last.window !== window;
    const maxScrollTop = element.scrollHeight - element.clientHeight;
    // The user may have scrolled up while the scroll event is still to come.
    if (
      !isNewWindow &&
      following.peek() &&
      element.scrollTop < Math.min(last.followedTop, maxScrollTop) - 1
    ) {
      following.value = false;
    }
    const destination = scrollTarget.value;
    const destinationIndex = destination ? findRowIndex(window.rows, destination.seq) : -1;
    if (destination && destination !== last.scrollTarget) {
      const top = rowTop(virtualRows, Math.max(0, destinationIndex));
      // A linked line is shown with the lines that led to it.
      element.scrollTop = destination.seq === linkedSeq.peek() ? top - element.clientHeight / 3 : top;
      last.scrollTarget = destination;
    } else if (following.peek() && window.isAtEnd) {
      element.scrollTop = element.scrollHeight;
    } else if (!isNewWindow) {
      const index = findRowIndex(window.rows, last.seq);
      // Adds what the user has scrolled since, unless the browser moved because lines were removed.
      const moved = last.top > maxScrollTop ? 0 : element.scrollTop - last.top;
      if (index >= 0) element.scrollTop = rowTop(virtualRows, index) - last.offset + moved;
    }
    anchor.current = { ...last, window, version, followedTop: following.peek() ? element.scrollTop : 0 };
    updateVisible();
  }, [version, window, height, virtualRows.scrollRect?.height, options.wrap, scrollTarget.value]);

  useEffect(() => {
    window.keepsOldRows = !following.value;
  }, [window, following.value]);

  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const maxScrollTop = element.scrollHeight - element.clientHeight;
    const last = anchor.current;
    // A smaller viewport moves the end away although the user did not scroll.
    const staysAtEnd = following.peek() && element.scrollTop >= Math.min(last.followedTop, maxScrollTop) - 1;
    // Until the other window is loaded, there is no end to follow.
    if (staysAtEnd) element.scrollTop = window.isAtEnd ? maxScrollTop : element.scrollTop;
    // A late scroll event must not undo a jump whose lines are still loading.
    else following.value = !window.isOpening && window.isAtEnd && maxScrollTop - element.scrollTop < NEAR_END;
    last.followedTop = following.peek() ? element.scrollTop : 0;
    updateVisible();
    notifyScroll(element.scrollTop);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Home") onJump(0);
    else if (event.key === "End") onFollow();
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const link = (event.target as Element).closest("a.time");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onLink(Number(link.closest<HTMLElement>(".line")?.dataset["seq"]));
  };
  const onCopy = (event: ClipboardEvent) => {
    const element = scroller.current;
    if (!element || !event.clipboardData) return;
    const text = selectedLogText(document.getSelection(), element, (seq) => findLine(window.rows, seq));
    if (text === undefined) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  /** Formats the exact time only when it is asked for: for every line it would be too slow. */
  const showExactTime = (event: Event) => {
    const link = (event.target as Element).closest<HTMLElement>("a.time:not([title])");
    const line = link && findLine(window.rows, Number(link.closest<HTMLElement>(".line")?.dataset["seq"]));
    if (line) link.title = `${formatExactTime(line.time)}\nLink to this line`;
  };
  const toggleExpanded = (seq: number) => {
    const next = new Map(expandCounts.peek());
    if (!next.delete(seq)) next.set(seq, 1);
    expandCounts.value = next;
  };
  const expandMore = (seq: number) => {
    expandCounts.value = new Map(expandCounts.peek()).set(seq, (expandCounts.peek().get(seq) ?? 0) + 1);
  };
  const moveCursor = (by: 1 | -1) => {
    const element = scroller.current;
    const index = nextCursorIndex(window.rows, cursor.peek(), visible.peek(), by);
    const line = window.rows[index];
    if (!element || !line) return;
    // Moving from line to line stops following.
    following.value = false;
    cursor.value = line.seq;
    const top = rowTop(virtualRows, index);
    const bottom = top + (virtualRows.measurementsCache[index]?.size ?? LINE_HEIGHT);
    const { scrollTop, clientHeight } = element;
    if (top < scrollTop) element.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) element.scrollTop = bottom - clientHeight;
  };
  const expandLine = () => {
    const line = findLine(window.rows, cursor.peek());
    if (!line) return;
    // From here, the tab key reaches what was expanded.
    scroller.current?.focus({ preventScroll: true });
    if (options.parseJson && parseJsonLine(line)) toggleExpanded(line.seq);
    else if (line.text.length > INITIAL_LENGTH) expandMore(line.seq);
  };
  // A layout effect, because a normal effect costs more with every frame of a scroll.
  useLayoutEffect(() => registerLogActions({ moveCursor, expandLine }));
  return (
    <>
      <LoadErrors window={window} parts={window.rows.length > 0 ? ["whole", "before"] : ["before"]} />
      <div class={`log-frame${options.wrap ? " wraps-lines" : ""}`}>
        <div
          class={`log-scroller${options.wrap ? " wrap" : ""}`}
          id="log-lines"
          ref={scroller}
          onScroll={onScroll}
          onKeyDown={onKeyDown}
          onClick={onClick}
          onCopy={onCopy}
          onPointerOver={showExactTime}
          onFocusIn={showExactTime}
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label="Lines"
          aria-busy={window.loading.value}
          data-following={following.value}
          data-lines={window.rows.length}
        >
          <div class="log-content" style={{ height: `${height}px` }}>
            {/* With padding instead of a transform: rows that stay are not painted again. */}
            <div class="log-window" style={{ paddingTop: `${items[0]?.start ?? 0}px` }}>
              {items.map((item) => {
                const line = window.rows[item.index];
                return line ? (
                  <LogRow
                    key={line.seq}
                    line={line}
                    index={item.index}
                    options={options}
                    isLinked={line.seq === linkedSeq.value}
                    isCurrent={line.seq === cursor.value}
                    expandCount={expandCounts.value.get(line.seq) ?? 0}
                    measure={isMeasured ? virtualRows.measureElement : undefined}
                    onToggle={toggleExpanded}
                    onMore={expandMore}
                    onField={onField}
                  />
                ) : null;
              })}
            </div>
          </div>
          {window.rows.length === 0 ? <EmptyLog window={window} text={emptyText} /> : null}
        </div>
        <p class="visually-hidden" role="status">
          {announcement(findLine(window.rows, cursor.value))}
        </p>
        <LogScrollbar visible={visible} onJump={onJump} onFollow={onFollow} />
      </div>
      <LoadErrors window={window} parts={["after"]} />
      <LogFooter following={following.value} onFollow={onFollow} />
    </>
  );
}

function findLine(lines: readonly Line[], seq: number | undefined): Line | undefined {
  const line = seq === undefined ? undefined : lines[findRowIndex(lines, seq)];
  return line?.seq === seq ? line : undefined;
}

/** Returns the text of the current line for screen readers. */
function announcement(line: Line | undefined): string {
  return line
    ? `${line.level === "info" ? "" : `${line.level}: `}${stripAnsi(line.text).slice(0, MAX_ANNOUNCED_LENGTH)}`
    : "";
}

/**
 * Sets the scroll offset before rows are rendered, when lines above the visible ones were added or removed. Otherwise
 * other rows would be rendered first, and all again after the scroll position is corrected.
 */
function predictScrollOffset(
  anchor: { seq: number; offset: number; top: number },
  virtualRows: VirtualRows,
  window: LogWindow,
  following: boolean,
): void {
  if (virtualRows.scrollOffset === null) return;
  const index = findRowIndex(window.rows, anchor.seq);
  if (following && window.isAtEnd) {
    virtualRows.scrollOffset = Math.max(
      0,
      virtualRows.getTotalSize() - (virtualRows.scrollRect?.height ?? 0),
    );
  } else if (index >= 0) {
    virtualRows.scrollOffset =
      rowTop(virtualRows, index) - anchor.offset + virtualRows.scrollOffset - anchor.top;
  }
}

function updateAnchor(
  anchor: { seq: number; offset: number; top: number },
  element: HTMLDivElement,
  rows: VirtualRows,
  lines: readonly Line[],
): void {
  // Found by offset: the rendered rows may belong to an earlier scroll position.
  const first = rows.getVirtualItemForOffset(element.scrollTop);
  if (!first) return;
  anchor.seq = lines[first.index]?.seq ?? 0;
  anchor.offset = first.start - element.scrollTop;
  anchor.top = element.scrollTop;
}

function visibleRange(element: HTMLDivElement, rows: VirtualRows, lines: readonly Line[]): VisibleRange {
  const first = rows.getVirtualItemForOffset(element.scrollTop);
  const last = rows.getVirtualItemForOffset(element.scrollTop + element.clientHeight - 1);
  return {
    first: (first && lines[first.index]?.seq) ?? 0,
    last: (last && lines[last.index]?.seq) ?? 0,
  };
}
