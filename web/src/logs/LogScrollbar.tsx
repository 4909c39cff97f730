/** The scrollbar of the session's whole log, however few of its lines are loaded. */

import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { liveLog } from "../app/appState";
import type { VisibleRange } from "./LogLines";

interface Props {
  visible: Signal<VisibleRange>;
  onJump: (seq: number) => void;
  onFollow: () => void;
}

/** As a fraction of the scrollbar: small enough for long logs, large enough to grab. */
const MIN_THUMB_HEIGHT = 0.03;

/** Returns top and height of the thumb as fractions of the scrollbar. */
export function thumbPosition(
  visible: VisibleRange,
  begin: number,
  end: number,
): { top: number; height: number } {
  const total = Math.max(1, end - begin);
  const visibleCount = Math.min(total, Math.max(1, visible.last - visible.first + 1));
  const height = Math.max(MIN_THUMB_HEIGHT, visibleCount / total);
  const fractionBefore =
    total > visibleCount ? Math.min(1, Math.max(0, (visible.first - begin) / (total - visibleCount))) : 0;
  return { top: fractionBefore * (1 - height), height };
}

export function LogScrollbar({ visible, onJump, onFollow }: Props) {
  const track = useRef<HTMLDivElement>(null);
  const { begin, end } = liveLog.extent.value;
  const { top, height } = thumbPosition(visible.value, begin, end);
  const jumpToPointer = (event: PointerEvent) => {
    const box = track.current?.getBoundingClientRect();
    if (!box) return;
    const fraction = (event.clientY - box.top) / box.height;
    if (fraction >= 0.995) onFollow();
    else onJump(Math.round(begin + Math.max(0, fraction) * (end - begin)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = Math.max(1, Math.round((end - begin) / 20));
    const to: Record<string, number> = {
      ArrowUp: visible.value.first - 1,
      ArrowDown: visible.value.first + 1,
      PageUp: visible.value.first - step,
      PageDown: visible.value.first + step,
      Home: begin,
    };
    const next = to[event.key];
    if (event.key === "End") onFollow();
    else if (next !== undefined) onJump(Math.max(begin, next));
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={track}
      class="log-scrollbar"
      role="scrollbar"
      tabIndex={0}
      aria-label="Place in the log of the session"
      aria-controls="log-lines"
      aria-orientation="vertical"
      aria-valuemin={begin}
      aria-valuemax={Math.max(begin, end - 1)}
      aria-valuenow={Math.min(Math.max(begin, visible.value.first), Math.max(begin, end - 1))}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        jumpToPointer(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons === 1) jumpToPointer(event);
      }}
    >
      <div class="thumb-offset" style={{ transform: `translateY(${top * 100}%)` }}>
        <div class="thumb" style={{ height: `${height * 100}%` }} />
      </div>
    </div>
  );
}
