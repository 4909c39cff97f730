import type { UIResource } from "../generated/protocol";
import { isManual } from "../model/status";
import { setManual, snapshot } from "../page";

/** Whether saves update the resource by themselves. */
export function ModeSwitch({ resource }: { resource: UIResource }) {
  const manual = isManual(resource);
  const name = resource.metadata.name;
  return (
    <button
      type="button"
      class="mode"
      role="switch"
      disabled={snapshot.value !== undefined}
      aria-checked={!manual}
      aria-label={`Update ${name} by itself`}
      title={
        manual ? "Manual: changes wait for you. Click for auto" : "Auto: saves update it. Click for manual"
      }
      onClick={() => setManual([name], !manual)}
    >
      {manual ? "Manual" : "Auto"}
    </button>
  );
}
