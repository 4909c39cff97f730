/** What a resource's statuses are called and how they are drawn. Shape and word carry the meaning, colour repeats it. */

import { annotation, type UIResource } from "../generated/protocol";

/** The shapes of components/StatusIcon.tsx. */
export type StatusShape = "ok" | "busy" | "starting" | "waiting" | "error" | "idle" | "absent" | "disabled";

export interface Status {
  shape: StatusShape;
  label: string;
}

/** Switched off by the reader or by the Tiltfile. */
export function isDisabled(resource: UIResource): boolean {
  return resource.status.disableStatus?.state === "Disabled";
}

/** Its cluster is unreachable: what is known of it may be outdated. */
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

/** After a failed update, nothing starts unless a pod of an earlier one does. */
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

/** Both statuses in one: the one that needs attention first. */
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

/** Counts, groups, filters and notifications all want to know it; resources are replaced, never changed. */
export function overallStatus(resource: UIResource): OverallStatus {
  let found = cache.get(resource);
  if (found === undefined) cache.set(resource, (found = computeOverallStatus(resource)));
  return found;
}

function computeOverallStatus(resource: UIResource): OverallStatus {
  if (isDisabled(resource)) return "disabled";
  const update = updateStatus(resource).shape;
  const runtime = runtimeStatus(resource).shape;
  if (update === "error" || runtime === "error") return "error";
  if (update === "busy" || update === "waiting") return update;
  // It is up to date, and not there yet.
  if (runtime === "starting") return runtime;
  return update === "ok" || runtime === "ok" ? "ok" : "idle";
}

export interface Message {
  /** One that is `due` waits for nobody but the reader: nothing is wrong with it. */
  kind: "error" | "warning" | "hold" | "due" | "note";
  text: string;
}

/** What there is to say about a resource, the most urgent first. */
export function resourceMessages(resource: UIResource): Message[] {
  const { status, metadata } = resource;
  const found: Message[] = [];
  const add = (kind: Message["kind"], text: string | undefined) => {
    if (text) found.push({ kind, text });
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
  add(isWaitingForTrigger(hold) ? "due" : "hold", hold);
  if (status.runtimeStatus !== "error") {
    add("note", annotationText(annotation.runtimeMessage));
  }
  for (const warning of last?.warnings ?? []) {
    add("warning", warning);
  }
  if (status.currentBuild) {
    add("note", annotationText(annotation.cause));
  }
  return found;
}

/** It waits for a click, as it was told to. */
export function isWaitingForTrigger(hold: string | undefined): boolean {
  return hold !== undefined && /\bwaiting for a trigger$/.test(hold);
}

/**
 * A message in one row, which is cut off at its end if it is long: of a failed command first how it ended, and of a pod not
 * its name, which is beside it.
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

/** Without the backslashes before quotes. */
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

/** File changes wait for a trigger by hand. */
export function isManual(resource: UIResource): boolean {
  const mode = resource.status.triggerMode ?? 0;
  return mode === 1 || mode === 2;
}
