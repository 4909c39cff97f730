/** What else can be done with a resource. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import { TILTFILE } from "../model/session";
import { isDisabled, isManual } from "../model/status";
import { cancel, setEnabled, setManual, trigger } from "../page";

export function RowMenu({ resource }: { resource: UIResource }) {
  const menu = useRef<HTMLDetailsElement>(null);
  // With a thousand rows, what is not seen is not drawn.
  const open = useSignal(false);
  const name = resource.metadata.name;
  const disabled = isDisabled(resource);
  const actions: { words: string; run: () => void; off?: boolean }[] = [
    { words: "Update now", run: () => trigger(name), off: disabled },
    { words: "Cancel the update", run: () => cancel(name), off: !resource.status.currentBuild },
    {
      words: isManual(resource) ? "Update by itself (auto)" : "Wait for me (manual)",
      run: () => setManual(name, !isManual(resource)),
      off: disabled,
    },
    {
      words: disabled ? "Enable" : "Disable",
      run: () => setEnabled([name], disabled),
      off: name === TILTFILE,
    },
  ];
  const close = () => menu.current?.removeAttribute("open");
  return (
    <details
      class="menu row-menu"
      ref={menu}
      onToggle={(event) => (open.value = event.currentTarget.open)}
      onFocusOut={(event) => {
        if (!menu.current?.contains(event.relatedTarget as Node | null)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        close();
        menu.current.querySelector("summary")?.focus();
        event.preventDefault();
      }}
    >
      <summary aria-label={`More for ${name}`} title="More">
        <span aria-hidden="true">⋯</span>
      </summary>
      {open.value ? (
        <div class="menu-body">
          {actions.map(({ words, run, off }) => (
            <button
              key={words}
              type="button"
              class="quiet"
              disabled={off === true}
              onClick={() => {
                close();
                run();
              }}
            >
              {words}
            </button>
          ))}
        </div>
      ) : null}
    </details>
  );
}
