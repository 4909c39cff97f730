/** Ticks before rows and groups, and what can be done with all that are ticked. */

import { useComputed } from "@preact/signals";
import { selectNone, selected, toggleAllSelected, toggleSelected } from "../model/selection";
import { TILTFILE } from "../model/session";
import { isDisabled, isManual } from "../model/status";
import { session, setEnabled, setManual, snapshot, trigger } from "../app/page";

export function Tick({ name }: { name: string }) {
  // So that one tick does not draw a thousand others.
  const on = useComputed(() => selected.value.has(name)).value;
  return (
    <input
      type="checkbox"
      class="tick"
      aria-label={`Select ${name}`}
      title="Select (x)"
      checked={on}
      onChange={() => toggleSelected(name)}
    />
  );
}

export function GroupTick({ label, names }: { label: string; names: readonly string[] }) {
  const count = names.filter((name) => selected.value.has(name)).length;
  return (
    <input
      type="checkbox"
      class="tick"
      aria-label={`Select all of ${label}`}
      title="Select all"
      checked={count > 0 && count === names.length}
      // A property, not an attribute.
      ref={(element: HTMLInputElement | null) => {
        if (element) element.indeterminate = count > 0 && count < names.length;
      }}
      onChange={() => toggleAllSelected(names)}
    />
  );
}

/** In the order of the Tiltfile; what is gone from it is no longer ticked. */
export function selectedNames(): string[] {
  return session.names.value.filter((name) => selected.value.has(name));
}

export function SelectionBar({ names }: { names: readonly string[] }) {
  const off = snapshot.value !== undefined;
  const states = names.map((name) => ({ name, resource: session.resource(name)?.value }));
  const own = states.filter(({ name }) => name !== TILTFILE);
  const enabled = own.filter(({ resource }) => resource && !isDisabled(resource)).map(({ name }) => name);
  const disabled = own.filter(({ resource }) => resource && isDisabled(resource)).map(({ name }) => name);
  const running = states.filter(({ resource }) => resource && !isDisabled(resource));
  const automatic = running.filter(({ resource }) => resource && !isManual(resource)).map(({ name }) => name);
  const byHand = running.filter(({ resource }) => resource && isManual(resource)).map(({ name }) => name);
  const actions = [
    {
      words: "Update now",
      names: running.map(({ name }) => name),
      run: (all: string[]) => all.forEach(trigger),
    },
    { words: "Enable", names: disabled, run: (all: string[]) => setEnabled(all, true) },
    { words: "Disable", names: enabled, run: (all: string[]) => setEnabled(all, false) },
    { words: "Auto", names: byHand, run: (all: string[]) => setManual(all, false) },
    { words: "Manual", names: automatic, run: (all: string[]) => setManual(all, true) },
  ];
  return (
    <div class="selection" role="group" aria-label="With the selected resources">
      <span class="quantity" role="status">
        {names.length} selected
      </span>
      {actions.map(({ words, names, run }) => (
        <button key={words} type="button" disabled={off || names.length === 0} onClick={() => run(names)}>
          {words}
        </button>
      ))}
      <button type="button" class="quiet" onClick={selectNone}>
        Clear selection
      </button>
    </div>
  );
}
