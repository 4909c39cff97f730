/** What the trigger button of a resource offers now. */

import type { UIResource } from "../generated/protocol";
import { isManual } from "./status";

export interface TriggerButtonState {
  /** On a button that has room for them. */
  text: string;
  /** Why now, in a tooltip. */
  hint: string;
  /** It waits for this click. */
  isHighlighted: boolean;
  /** Saved changes wait for it: there is a star. */
  hasChanges: boolean;
  /** A click stops what runs, or takes back what was asked for. */
  cancels: boolean;
  /** What that is called where the words have no room. */
  label: string;
}

export function triggerButtonState(resource: UIResource): TriggerButtonState {
  const { status, metadata } = resource;
  const base: TriggerButtonState = {
    text: "Update now",
    hint: "",
    isHighlighted: false,
    hasChanges: false,
    cancels: false,
    label: `Update ${metadata.name} now`,
  };
  if (status.currentBuild) {
    return { ...base, text: "Stop update", cancels: true, label: `Stop the update of ${metadata.name}` };
  }
  // Only what somebody asked for is said to be queued.
  if (status.queued) {
    const label = `Take back the update of ${metadata.name}`;
    return {
      ...base,
      text: "Take back",
      hint: "it was asked for, and waits for its turn",
      cancels: true,
      label,
    };
  }
  if (status.hasPendingChanges) {
    const isWaiting = isManual(resource);
    const hint = "files have changed since the last update";
    return { ...base, text: "Update with changes", hint, isHighlighted: isWaiting, hasChanges: isWaiting };
  }
  const neverRan = !status.lastDeployTime && !status.buildHistory?.length;
  if (neverRan && status.updateStatus === "none") {
    return { ...base, text: "Start", hint: "it has not run yet", isHighlighted: true };
  }
  return base;
}

/** It runs, or was asked for and has not had its turn. */
export function canCancel({ status }: UIResource): boolean {
  return Boolean(status.currentBuild) || status.queued === true;
}
