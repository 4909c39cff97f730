/** Checkboxes that select resources and groups, and the bar with actions on all selected resources. */

import { useComputed } from "@preact/signals";
import { clearSelection, selection, toggleAllSelected, toggleSelected } from "../model/selection";
import { TILTFILE } from "../model/session";
import { isDisabled, isManual } from "../model/status";
import { setEnabled, setManual, triggerUpdate } from "../app/actions";
import { session, snapshotTime } from "../app/appState";

export function SelectCheckbox({ name }: { name: string }) {
  // Computed, so that one change does not rerender the checkboxes of a thousand rows.
  const isSelected = useComputed(() => selection.value.has(name)).value;
  return (
    <input
      type="checkbox"
      class="select-checkbox"
      aria-label={`Select ${name}`}
      title="Select (x)"
      checked={isSelected}
      onChange={() => toggleSelected(name)}
    />
  );
}

export function SelectGroupCheckbox({ label, names }: { label: string; names: readonly string[] }) {
  const count = names.filter((name) => selection.value.has(name)).length;
  return (
    <input
      type="checkbox"
      class="select-checkbox"
      aria-label={`Select all of ${label}`}
      title="Select all"
      checked={count > 0 && count === names.length}
      // `indeterminate` exists only as a property.
      ref={(element: HTMLInputElement | null) => {
        if (element) element.indeterminate = count > 0 && count < names.length;
      }}
      onChange={() => toggleAllSelected(names)}
    />
  );
}

/** Returns the selected resources in the order of the Tiltfile, without those that no longer exist. */
export function selectedNames(): string[] {
  return session.names.value.filter((name) => selection.value.has(name));
}

export function SelectionBar({ names }: { names: readonly string[] }) {
  const isReadOnly = snapshotTime.value !== undefined;
  const resources = names.map((name) => ({ name, resource: session.resource(name)?.value }));
  const withoutTiltfile = resources.filter(({ name }) => name !== TILTFILE);
  const enabled = withoutTiltfile
    .filter(({ resource }) => resource && !isDisabled(resource))
    .map(({ name }) => name);
  const disabled = withoutTiltfile
    .filter(({ resource }) => resource && isDisabled(resource))
    .map(({ name }) => name);
  const enabledResources = resources.filter(({ resource }) => resource && !isDisabled(resource));
  const automatic = enabledResources
    .filter(({ resource }) => resource && !isManual(resource))
    .map(({ name }) => name);
  const manual = enabledResources
    .filter(({ resource }) => resource && isManual(resource))
    .map(({ name }) => name);
  const actions = [
    {
      label: "Update now",
      names: enabledResources.map(({ name }) => name),
      run: (names: string[]) => names.forEach(triggerUpdate),
    },
    { label: "Enable", names: disabled, run: (names: string[]) => setEnabled(names, true) },
    { label: "Disable", names: enabled, run: (names: string[]) => setEnabled(names, false) },
    { label: "Auto", names: manual, run: (names: string[]) => setManual(names, false) },
    { label: "Manual", names: automatic, run: (names: string[]) => setManual(names, true) },
  ];
  return (
    <div class="selection" role="group" aria-label="With the selected resources">
      <span class="result-count" role="status">
        {names.length} selected
      </span>
      {actions.map(({ label, names, run }) => (
        <button
          key={label}
          type="button"
          disabled={isReadOnly || names.length === 0}
          onClick={() => run(names)}
        >
          {label}
        </button>
      ))}
      <button type="button" class="quiet" onClick={clearSelection}>
        Clear selection
      </button>
    </div>
  );
}
