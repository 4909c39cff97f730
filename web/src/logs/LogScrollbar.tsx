/** Where in the whole log the reader is: a scroll bar over all lines of the session, whatever is loaded of them. */

import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { liveLog } from "../app/appState";
import type { Seen } from "./LogLines";

interface Properties {
  seen: Signal<Seen>;
  onJump: (seq: number) => void;
  onFollow: () => void;
}

/** So that it can be seen, and caught. In parts of the rail. */
const SMALLEST = 0.03;

/** Begin and height of the thumb, in parts of the rail. */
export function thumb(seen: Seen, begin: number, end: number): { top: number; height: number } {
  const all = Math.max(1, end - begin);
  const shown = Math.min(all, Math.max(1, seen.last - seen.first + 1));
  const height = Math.max(SMALLEST, shown / all);
  const before = all > shown ? Math.min(1, Math.max(0, (seen.first - begin) / (all - shown))) : 0;
  return { top: before * (1 - height), height };
}

export function Rail({ seen, onJump, onFollow }: Properties) {
  const rail = useRef<HTMLDivElement>(null);
  const { begin, end } = liveLog.extent.value;
  const { top, height } = thumb(seen.value, begin, end);
  const jump = (event: PointerEvent) => {
    const box = rail.current?.getBoundingClientRect();
    if (!box) return;
    const part = (event.clientY - box.top) / box.height;
    if (part >= 0.995) onFollow();
    else onJump(Math.round(begin + Math.max(0, part) * (end - begin)));
  };
  const pressed = (event: KeyboardEvent) => {
    const step = Math.max(1, Math.round((end - begin) / 20));
    const to: Record<string, number> = {
      ArrowUp: seen.value.first - 1,
      ArrowDown: seen.value.first + 1,
      PageUp: seen.value.first - step,
      PageDown: seen.value.first + step,
      Home: begin,
    };
    const wanted = to[event.key];
    if (event.key === "End") onFollow();
    else if (wanted !== undefined) onJump(Math.max(begin, wanted));
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={rail}
      class="rail"
      role="scrollbar"
      tabIndex={0}
      aria-label="Place in the log of the session"
      aria-controls="log-lines"
      aria-orientation="vertical"
      aria-valuemin={begin}
      aria-valuemax={Math.max(begin, end - 1)}
      aria-valuenow={Math.min(Math.max(begin, seen.value.first), Math.max(begin, end - 1))}
      onKeyDown={pressed}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        jump(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons === 1) jump(event);
      }}
    >
      <div class="way" style={{ transform: `translateY(${top * 100}%)` }}>
        <div class="thumb" style={{ height: `${height * 100}%` }} />
      </div>
    </div>
  );
}
