import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import { isManual } from "../model/status";
import { connection, trigger } from "../page";

export function TriggerButton({ resource, wide }: { resource: UIResource; wide?: boolean }) {
  // Until the session answers with a change, so that a click is seen to have arrived.
  const asked = useSignal(false);
  const name = resource.metadata.name;
  useEffect(() => {
    asked.value = false;
  }, [resource]);
  const due =
    isManual(resource) && (resource.status.hasPendingChanges || resource.status.updateStatus === "none");
  const ask = () => {
    asked.value = connection.state.peek() === "open";
    trigger(name);
  };
  return (
    <button
      type="button"
      class={`trigger${wide ? " wide" : ""}${due ? " due" : ""}${asked.value ? " asked" : ""}`}
      aria-label={`Update ${name} now`}
      title={`Update ${name} now`}
      onClick={ask}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3" class="stroke" />
      </svg>
      {wide ? <span>Update now</span> : null}
    </button>
  );
}
