/** The menu with further actions of a resource. */

import type { UIResource } from "../generated/protocol";
import { TILTFILE } from "../model/session";
import { isDisabled, isManual } from "../model/status";
import { canCancel } from "../model/triggerButton";
import { cancelUpdate, setEnabled, setManual, triggerUpdate } from "../app/actions";
import { Menu } from "./Menu";

export function ResourceMenu({ resource }: { resource: UIResource }) {
  const name = resource.metadata.name;
  const disabled = isDisabled(resource);
  const actions: { label: string; run: () => void; isUnavailable?: boolean }[] = [
    { label: "Update now", run: () => triggerUpdate(name), isUnavailable: disabled },
    { label: "Cancel the update", run: () => cancelUpdate(name), isUnavailable: !canCancel(resource) },
    {
      label: isManual(resource) ? "Switch to Auto" : "Switch to Manual",
      run: () => setManual([name], !isManual(resource)),
      isUnavailable: disabled,
    },
    {
      label: disabled ? "Enable" : "Disable",
      run: () => setEnabled([name], disabled),
      isUnavailable: name === TILTFILE,
    },
  ];
  return (
    <Menu
      class="row-menu"
      label={`More for ${name}`}
      title="More"
      summary={<span aria-hidden="true">⋯</span>}
    >
      {(close) =>
        actions.map(({ label, run, isUnavailable }) => (
          <button
            key={label}
            type="button"
            class="quiet"
            disabled={isUnavailable === true}
            onClick={() => {
              close();
              run();
            }}
          >
            {label}
          </button>
        ))
      }
    </Menu>
  );
}
