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
  /** A click stops what runs. */
  stops: boolean;
  /** There is nothing to click for: it has been asked for already. */
  off: boolean;
}

export function triggerForm(resource: UIResource): TriggerForm {
  const { status } = resource;
  const usual: TriggerForm = {
    words: "Update now",
    hint: "",
    due: false,
    changed: false,
    stops: false,
    off: false,
  };
  if (status.currentBuild) return { ...usual, words: "Stop update", stops: true };
  if (status.queued) return { ...usual, words: "Queued", hint: "it is next in the queue", off: true };
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
