/** What the trigger button of a resource offers now. */

import type { UIResource } from "../generated/protocol";
import { isManual } from "./status";

export interface TriggerForm {
  /** On a button that has room for them. */
  words: string;
  /** Why now, in a tooltip. */
  hint: string;
  /** It waits for this click. */
  due: boolean;
  /** Saved changes wait for it: there is a star. */
  changed: boolean;
  /** A click stops what runs, or takes back what was asked for. */
  stops: boolean;
  /** What that is called where the words have no room. */
  label: string;
}

export function triggerForm(resource: UIResource): TriggerForm {
  const { status, metadata } = resource;
  const usual: TriggerForm = {
    words: "Update now",
    hint: "",
    due: false,
    changed: false,
    stops: false,
    label: `Update ${metadata.name} now`,
  };
  if (status.currentBuild) {
    return { ...usual, words: "Stop update", stops: true, label: `Stop the update of ${metadata.name}` };
  }
  // Only what somebody asked for is said to be queued.
  if (status.queued) {
    const label = `Take back the update of ${metadata.name}`;
    return {
      ...usual,
      words: "Take back",
      hint: "it was asked for, and waits for its turn",
      stops: true,
      label,
    };
  }
  if (status.hasPendingChanges) {
    const due = isManual(resource);
    const hint = "files have changed since the last update";
    return { ...usual, words: "Update with changes", hint, due, changed: due };
  }
  const never = !status.lastDeployTime && !status.buildHistory?.length;
  if (never && status.updateStatus === "none") {
    return { ...usual, words: "Start", hint: "it has not run yet", due: true };
  }
  return usual;
}

/** It runs, or was asked for and has not had its turn. */
export function canCancel({ status }: UIResource): boolean {
  return Boolean(status.currentBuild) || status.queued === true;
}
