/** Which rows are in sight. A thin adapter of @tanstack/virtual-core to Preact. */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** In pixels, as in logs.css. */
export const LINE_HEIGHT = 20;

export interface Rows {
  items: VirtualItem[];
  height: number;
}

export function useRows(scroller: RefObject<HTMLDivElement | null>, count: number): Rows {
  const [, redraw] = useState(0);
  const options = {
    count,
    getScrollElement: () => scroller.current ?? null,
    estimateSize: () => LINE_HEIGHT,
    overscan: 12,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw((times) => times + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { items: virtualizer.getVirtualItems(), height: virtualizer.getTotalSize() };
}
