/** Everything that can be done or shown, found by typing. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { found, type Command } from "../model/commandSearch";
import { commands } from "../app/paletteCommands";
import { overallWord } from "../model/status";
import { Mark } from "./StatusIcon";
import { useModal } from "./useModal";

export const paletteShown = signal(false);

const MOST = 50;

export function Palette() {
  return paletteShown.value ? <Open /> : null;
}

function Open() {
  const close = () => (paletteShown.value = false);
  const dialog = useModal(close);
  const text = useSignal("");
  const at = useSignal(0);
  // As they are when it opens: nothing moves under the finger.
  const all = useMemo(commands, []);
  const shown = found(all, text.value).slice(0, MOST);
  const chosen = Math.min(at.value, shown.length - 1);
  const run = (command: Command | undefined) => {
    if (!command) return;
    // First the focus goes back to what the command may be about.
    dialog.current?.close();
    close();
    command.run();
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") at.value = Math.min(chosen + 1, shown.length - 1);
    else if (event.key === "ArrowUp") at.value = Math.max(chosen - 1, 0);
    else if (event.key === "Enter") run(shown[chosen]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`command-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Commands"
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="What to do or show"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={shown.length > 0 ? `command-${chosen}` : undefined}
        placeholder="A resource, or what to do"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={pressed}
      />
      <ul id="commands" role="listbox" aria-label="Commands">
        {shown.map((command, index) => (
          <li
            key={`${index} ${command.words}`}
            id={`command-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerMove={() => (at.value = index)}
            onClick={() => run(command)}
          >
            {command.state ? <Mark shape={command.state} /> : null}
            <span class="command-words">{command.words}</span>
            {command.state && command.state !== "ok" ? (
              <span class="muted">{overallWord[command.state]}</span>
            ) : null}
            {command.key ? <kbd>{command.key}</kbd> : null}
          </li>
        ))}
      </ul>
      {shown.length === 0 ? <p class="muted">Nothing is called so.</p> : null}
    </dialog>
  );
}
