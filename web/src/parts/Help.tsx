import { useEffect, useRef } from "preact/hooks";
import { helpShown, keys } from "../keys";

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = helpShown.value;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => (helpShown.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        <div>
          <dt>
            <kbd>Ctrl K</kbd>
          </dt>
          <dd>Commands</dd>
        </div>
        {keys.map(({ key, meaning }) => (
          <div key={key}>
            <dt>
              <kbd>{key === "Escape" ? "Esc" : key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (helpShown.value = false)}>
        Close
      </button>
    </dialog>
  );
}
