/** What a resource's trigger button does at the moment. */

import type { UIResource } from "../generated/protocol";
import { isManual } from "./status";

export interface TriggerButtonState {
  /** The label of a button that has room for one. */
  text: string;
  /** Why to click now, for the tooltip. */
  hint: string;
  /** The resource waits for this click. */
  isHighlighted: boolean;
  /** Saved changes wait for a manual trigger: shown as a star. */
  hasChanges: boolean;
  /** A click cancels a running or queued update. */
  cancels: boolean;
  /** The accessible name where `text` is not shown. */
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
  // Only updates that somebody requested are `queued`.
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

/** Returns whether an update is running, or was requested and is queued. */
export function canCancel({ status }: UIResource): boolean {
  return Boolean(status.currentBuild) || status.queued === true;
}
