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
  const actions: { label: string; run: () => void; isDisabledAction?: boolean }[] = [
    { label: "Update now", run: () => triggerUpdate(name), isDisabledAction: disabled },
    { label: "Cancel the update", run: () => cancelUpdate(name), isDisabledAction: !canCancel(resource) },
    {
      label: isManual(resource) ? "Switch to Auto" : "Switch to Manual",
      run: () => setManual([name], !isManual(resource)),
      isDisabledAction: disabled,
    },
    {
      label: disabled ? "Enable" : "Disable",
      run: () => setEnabled([name], disabled),
      isDisabledAction: name === TILTFILE,
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
        actions.map(({ label, run, isDisabledAction }) => (
          <button
            key={label}
            type="button"
            class="quiet"
            disabled={isDisabledAction === true}
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
