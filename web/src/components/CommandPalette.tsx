/** The command palette: resources and commands, found by typing. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { searchCommands, type Command } from "../model/commandSearch";
import { isPaletteOpen } from "../app/openDialogs";
import { paletteCommands } from "../app/paletteCommands";
import { overallLabels } from "../model/status";
import { StatusIcon } from "./StatusIcon";
import { useModal } from "./useModal";

const MAX_SHOWN = 50;

export function CommandPalette() {
  return isPaletteOpen.value ? <PaletteDialog /> : null;
}

function PaletteDialog() {
  const close = () => (isPaletteOpen.value = false);
  const dialog = useModal(close);
  const text = useSignal("");
  const selectedIndex = useSignal(0);
  // Collected when the palette opens, so that no entry moves while the user chooses.
  const commands = useMemo(paletteCommands, []);
  const results = searchCommands(commands, text.value).slice(0, MAX_SHOWN);
  const selected = Math.min(selectedIndex.value, results.length - 1);
  const run = (command: Command | undefined) => {
    if (!command) return;
    // Closing first returns the focus to the element that the command may act on.
    dialog.current?.close();
    close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") selectedIndex.value = Math.min(selected + 1, results.length - 1);
    else if (event.key === "ArrowUp") selectedIndex.value = Math.max(selected - 1, 0);
    else if (event.key === "Enter") run(results[selected]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`command-${selected}`)?.scrollIntoView({ block: "nearest" });
  }, [selected]);
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
        aria-activedescendant={results.length > 0 ? `command-${selected}` : undefined}
        placeholder="A resource, or what to do"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          selectedIndex.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="commands" role="listbox" aria-label="Commands">
        {results.map((command, index) => (
          <li
            key={`${index} ${command.label}`}
            id={`command-${index}`}
            role="option"
            aria-selected={index === selected}
            onPointerMove={() => (selectedIndex.value = index)}
            onClick={() => run(command)}
          >
            {command.status ? <StatusIcon shape={command.status} /> : null}
            <span class="command-label">{command.label}</span>
            {command.status && command.status !== "ok" ? (
              <span class="muted">{overallLabels[command.status]}</span>
            ) : null}
            {command.key ? <kbd>{command.key}</kbd> : null}
          </li>
        ))}
      </ul>
      {results.length === 0 ? <p class="muted">Nothing is called so.</p> : null}
    </dialog>
  );
}
