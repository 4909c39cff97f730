import type { UIResource } from "../generated/protocol";
import { isManual } from "../model/status";
import { setManual } from "../app/actions";
import { snapshotTime } from "../app/appState";

/** Switches between automatic and manual updates. */
export function TriggerModeButton({ resource }: { resource: UIResource }) {
  const manual = isManual(resource);
  const label = manual ? "Manual" : "Auto";
  const name = resource.metadata.name;
  return (
    <button
      type="button"
      class={`mode${manual ? " manual" : ""}`}
      disabled={snapshotTime.value !== undefined}
      // Not an on/off switch: its name is the current mode.
      aria-label={`${label}: ${name} ${manual ? "waits for you" : "updates by itself"}`}
      title={
        manual ? "Manual: changes wait for you. Click for Auto" : "Auto: saves update it. Click for Manual"
      }
      onClick={() => setManual([name], !manual)}
    >
      {label}
    </button>
  );
}
