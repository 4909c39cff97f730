/** What else can be done with a resource. */

import type { UIResource } from "../generated/protocol";
import { TILTFILE } from "../model/session";
import { isDisabled, isManual } from "../model/status";
import { canCancel } from "../model/triggerButton";
import { cancel, setEnabled, setManual, trigger } from "../app/page";
import { Menu } from "./Menu";

export function RowMenu({ resource }: { resource: UIResource }) {
  const name = resource.metadata.name;
  const disabled = isDisabled(resource);
  const actions: { words: string; run: () => void; off?: boolean }[] = [
    { words: "Update now", run: () => trigger(name), off: disabled },
    { words: "Cancel the update", run: () => cancel(name), off: !canCancel(resource) },
    {
      words: isManual(resource) ? "Switch to Auto" : "Switch to Manual",
      run: () => setManual([name], !isManual(resource)),
      off: disabled,
    },
    {
      words: disabled ? "Enable" : "Disable",
      run: () => setEnabled([name], disabled),
      off: name === TILTFILE,
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
        actions.map(({ words, run, off }) => (
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
        ))
      }
    </Menu>
  );
}
