/** Labels and icons of a resource's statuses. Shape and label carry the meaning; the colour only repeats it. */

import { annotation, type UIResource } from "../generated/protocol";

/** The icons of components/StatusIcon.tsx. */
export type StatusShape = "ok" | "busy" | "starting" | "waiting" | "error" | "idle" | "absent" | "disabled";

export interface Status {
  shape: StatusShape;
  label: string;
}

/** Returns whether the user or the Tiltfile disabled the resource. */
export function isDisabled(resource: UIResource): boolean {
  return resource.status.disableStatus?.state === "Disabled";
}

/** Returns whether the resource's cluster is unreachable, so that its status may be outdated. */
function isUnreachable(resource: UIResource): boolean {
  return resource.metadata.annotations?.[annotation.unreachableCluster] !== undefined;
}

export function updateStatus(resource: UIResource): Status {
  const status = resource.status;
  if (isDisabled(resource)) return { shape: "disabled", label: "Disabled" };
  switch (status.updateStatus) {
    case "ok":
      return status.hasPendingChanges
        ? { shape: "waiting", label: "Changes waiting" }
        : { shape: "ok", label: "Up to date" };
    case "in_progress":
      return { shape: "busy", label: "Updating" };
    case "pending":
      return { shape: "waiting", label: status.queued ? "Queued" : "Waiting" };
    case "error":
      return { shape: "error", label: "Update failed" };
    case "none":
      return { shape: "idle", label: "Not started" };
    case "not_applicable":
      return { shape: "absent", label: "No update" };
  }
}

/** Returns whether something can be starting: after a failed update, only a pod of an earlier one. */
function canBeStarting({ status }: UIResource): boolean {
  return status.updateStatus !== "error" || Boolean(status.k8sResourceInfo?.podName);
}

export function runtimeStatus(resource: UIResource): Status {
  if (isDisabled(resource)) return { shape: "absent", label: "Switched off" };
  switch (resource.status.runtimeStatus) {
    case "ok":
      return { shape: "ok", label: "Running" };
    case "pending":
      return canBeStarting(resource)
        ? { shape: "starting", label: "Starting" }
        : { shape: "idle", label: "Not running" };
    case "error":
      return { shape: "error", label: isUnreachable(resource) ? "Unreachable" : "Failing" };
    case "unknown":
      return { shape: "idle", label: "Unknown" };
    case "none":
      return { shape: "idle", label: "Not running" };
    case "not_applicable":
      return { shape: "absent", label: "Nothing to run" };
  }
}

/** Update and runtime status in one: the one that needs attention first. */
export type OverallStatus = "error" | "busy" | "starting" | "waiting" | "ok" | "idle" | "disabled";

export const overallStatuses: readonly OverallStatus[] = [
  "error",
  "busy",
  "starting",
  "waiting",
  "ok",
  "idle",
  "disabled",
];

export const overallLabels: Record<OverallStatus, string> = {
  error: "Failing",
  busy: "Updating",
  starting: "Starting",
  waiting: "Waiting",
  ok: "Fine",
  idle: "Not started",
  disabled: "Disabled",
};

const cache = new WeakMap<UIResource, OverallStatus>();

/**
 * Returns the overall status, computed once for each version of a resource: resources are replaced, never changed.
 */
export function overallStatus(resource: UIResource): OverallStatus {
  let overall = cache.get(resource);
  if (overall === undefined) cache.set(resource, (overall = computeOverallStatus(resource)));
  return overall;
}

function computeOverallStatus(resource: UIResource): OverallStatus {
  if (isDisabled(resource)) return "disabled";
  const update = updateStatus(resource).shape;
  const runtime = runtimeStatus(resource).shape;
  if (update === "error" || runtime === "error") return "error";
  if (update === "busy" || update === "waiting") return update;
  // The update has succeeded, but the pod or server is not ready.
  if (runtime === "starting") return runtime;
  return update === "ok" || runtime === "ok" ? "ok" : "idle";
}

export interface Message {
  /** `manual` is a hold that only waits for a manual trigger, which is no problem. */
  kind: "error" | "warning" | "hold" | "manual" | "note";
  text: string;
}

/** Returns what to report about a resource, the most urgent first. */
export function resourceMessages(resource: UIResource): Message[] {
  const { status, metadata } = resource;
  const messages: Message[] = [];
  const add = (kind: Message["kind"], text: string | undefined) => {
    if (text) messages.push({ kind, text });
  };
  const annotationText = (key: string) => metadata.annotations?.[key];
  const last = status.buildHistory?.[0];
  if (!status.currentBuild) {
    add("error", last?.error);
  }
  if (status.runtimeStatus === "error") {
    add("error", annotationText(annotation.runtimeMessage) || status.k8sResourceInfo?.podStatusMessage);
  }
  add("warning", annotationText(annotation.forwards));
  add("warning", annotationText(annotation.drift));
  const hold = annotationText(annotation.hold);
  add(isWaitingForTrigger(hold) ? "manual" : "hold", hold);
  if (status.runtimeStatus !== "error") {
    add("note", annotationText(annotation.runtimeMessage));
  }
  for (const warning of last?.warnings ?? []) {
    add("warning", warning);
  }
  if (status.currentBuild) {
    add("note", annotationText(annotation.cause));
  }
  return messages;
}

/** Returns whether a hold only waits for a manual trigger. */
export function isWaitingForTrigger(hold: string | undefined): boolean {
  return hold !== undefined && /\bwaiting for a trigger$/.test(hold);
}

/**
 * Shortens a message to one row, which is cut off at its end: a failed command starts with its exit status, and a
 * pod's message loses the pod's name, which is shown beside it.
 */
export function summarizeMessage(text: string): string {
  const summary = text
    .replace(
      /Command "([^]*)" failed: ([^\n)]+)/,
      (_, command: string, end: string) => `${end}: ${unescapeQuotes(command)}`,
    )
    .replace(/^pod \S+: /, "");
  return summary.split("\n", 1)[0] ?? "";
}

/** Removes the backslashes before quotes. */
function unescapeQuotes(quoted: string): string {
  return quoted.replace(/\\(["\\])/g, "$1");
}

export function resourceKind(resource: UIResource): string {
  const { status, metadata } = resource;
  if (metadata.name === "(Tiltfile)") return "Tiltfile";
  if (status.k8sResourceInfo) return "Kubernetes";
  if (status.localResourceInfo) return status.localResourceInfo.isTest ? "Test" : "Local";
  return "";
}

/** Returns whether changes wait for a manual trigger. */
export function isManual(resource: UIResource): boolean {
  const mode = resource.status.triggerMode ?? 0;
  return mode === 1 || mode === 2;
}
