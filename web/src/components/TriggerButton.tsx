/** The button that starts an update, applies pending changes, or cancels what is running or queued. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import { triggerButtonState } from "../model/triggerButton";
import { cancelUpdate, triggerUpdate } from "../app/actions";
import { connection, refusedRequests, snapshotTime } from "../app/appState";

/** A request that changes nothing gets no response. In milliseconds. */
const RESPONSE_TIMEOUT = 5_000;

const iconPaths = {
  update: "M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3",
  stop: "M4.5 4.5h7v7h-7z",
  star: "M8 1.2l2.1 4.4 4.8.7-3.5 3.4.9 4.8L8 12.2l-4.3 2.3.9-4.8L1.1 6.3l4.8-.7z",
};

export function TriggerButton({ resource, wide }: { resource: UIResource; wide?: boolean }) {
  // Shows that a click was sent, until the session responds with a change or a refusal.
  const isRequested = useSignal(false);
  const name = resource.metadata.name;
  const refusedCount = refusedRequests.value;
  const isConnected = connection.state.value === "open";
  // A layout effect, because a later effect could undo a click that came in between.
  useLayoutEffect(() => {
    isRequested.value = false;
  }, [resource, refusedCount, isConnected]);
  useEffect(() => {
    if (!isRequested.value) return;
    const timer = setTimeout(() => (isRequested.value = false), RESPONSE_TIMEOUT);
    return () => clearTimeout(timer);
  }, [isRequested.value]);
  const { text, hint, isHighlighted, hasChanges, cancels, label } = triggerButtonState(resource);
  const onClick = () => {
    isRequested.value = isConnected;
    if (cancels) cancelUpdate(name);
    else triggerUpdate(name);
  };
  return (
    <button
      type="button"
      class={`trigger${wide ? " wide" : ""}${isHighlighted ? " highlighted" : ""}${cancels ? " cancels" : ""}${isRequested.value ? " requested" : ""}`}
      // Starts with the visible text, if there is one.
      aria-label={wide ? `${text}: ${name}` : label}
      title={hint ? `${label}: ${hint}` : label}
      disabled={snapshotTime.value !== undefined}
      onClick={onClick}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={cancels ? iconPaths.stop : iconPaths.update} class="stroke" />
      </svg>
      {wide ? <span>{text}</span> : null}
      {hasChanges ? (
        <svg viewBox="0 0 16 16" aria-hidden="true" class="pending-changes">
          <path d={iconPaths.star} />
        </svg>
      ) : null}
    </button>
  );
}
