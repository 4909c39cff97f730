/** A dropdown that closes on Escape, on a click elsewhere, and when the focus leaves it. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  class?: string;
  /** The content of the button that opens the menu. */
  summary: ComponentChildren;
  label?: string | undefined;
  title?: string | undefined;
  onOpen?: () => void;
  /** Rendered only while the menu is open. */
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ class: className, summary, label, title, onOpen, children }: Props) {
  const menu = useRef<HTMLDetailsElement>(null);
  const open = useSignal(false);
  const close = () => menu.current?.removeAttribute("open");
  useEffect(() => {
    if (!open.value) return;
    const closeIfOutside = (event: Event) => {
      if (!menu.current?.contains(event.target as Node | null)) close();
    };
    document.addEventListener("pointerdown", closeIfOutside);
    return () => document.removeEventListener("pointerdown", closeIfOutside);
  }, [open.value]);
  return (
    <details
      class={`menu${className ? ` ${className}` : ""}`}
      ref={menu}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
        if (open.peek()) onOpen?.();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget as Node | null;
        // Without a target, the click was on something that cannot have the focus.
        if (to && !menu.current?.contains(to)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        close();
        menu.current.querySelector("summary")?.focus();
        event.preventDefault();
      }}
    >
      <summary aria-label={label} title={title}>
        {summary}
      </summary>
      {open.value ? <div class="menu-body">{children(close)}</div> : null}
    </details>
  );
}
