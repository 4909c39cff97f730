// Written by `cargo test -p lilt-server --features ts`; do not edit.

import type { UIButton } from "./objects";

export type ServerMessage = { "type": "hello", 
/**
 * Of lilt.
 */
version: string, 
/**
 * Another one than before: another session, forget its logs.
 */
session_id: string, revision: number, 
/**
 * It is a snapshot, made then: nothing changes, and nothing can be asked for.
 */
snapshot?: Timestamp, } | { "type": "state", 
/**
 * These are all resources there are: forget what you know.
 */
complete: boolean, 
/**
 * New or changed, whole, in no order.
 */
resources: Array<UIResource>, removed: Array<ResourceName>, 
/**
 * Only when changed.
 */
session?: UISession, } | { "type": "lines", 
/**
 * Which `Follow` this answers.
 */
follow: number, lines: Array<Line>, 
/**
 * Where the page is now: all wanted lines before this number have been sent.
 */
next: number, 
/**
 * Lines before these were passed over, because there were too many.
 */
gap?: boolean, } | { "type": "log", 
/**
 * The number of the oldest line that is kept.
 */
begin: number, 
/**
 * The number that the next line will get.
 */
end: number, } | { "type": "buttons", 
/**
 * These are all there are.
 */
complete: boolean, buttons: Array<UIButton>, removed: Array<string>, } | { "type": "refused", message: string, } | { "type": "tick" };

export type PageMessage = { "type": "ask", request: Request, } | { "type": "follow", 
/**
 * Chosen by the page; comes back with the lines.
 */
follow: number, 
/**
 * Which lines, as in the query of `/api/lines`.
 */
query: string, from: number, } | { "type": "unfollow" };

/**
 * What the user calls a resource. Unique in a project.
 */
export type ResourceName = string;

/**
 * A section of log: one update, one pod's container, one run of a server.
 */
export type SpanId = string;

/**
 * Microseconds since 1970, written as Kubernetes' `MicroTime` (`2026-11-15T19:51:53.000001Z`).
 */
export type Timestamp = string;

/**
 * The part of Kubernetes' object metadata that lilt fills.
 */
export type ObjectMeta = { name: string, labels?: { [key in string]: string }, annotations?: { [key in string]: string }, creationTimestamp?: Timestamp | null, };

export type UIResource = { apiVersion: string, kind: string, metadata: ObjectMeta, status: UIResourceStatus, };

export type UIResourceStatus = { 
/**
 * Written as `null` where there is none, as Tilt does.
 */
lastDeployTime?: Timestamp | null, 
/**
 * 0 auto; 1 manual with auto init; 2 manual; 3 auto without auto init.
 */
triggerMode?: number, 
/**
 * Newest first.
 */
buildHistory?: Array<BuildTerminated>, currentBuild?: BuildRunning | null, 
/**
 * Written as `null` where there is none, as Tilt does.
 */
pendingBuildSince?: Timestamp | null, hasPendingChanges?: boolean, endpointLinks?: Array<EndpointLink>, k8sResourceInfo?: KubernetesInfo | null, localResourceInfo?: LocalInfo | null, runtimeStatus: RuntimeStatus, updateStatus: UpdateStatus, specs?: Array<TargetSpec>, queued?: boolean, order?: number, disableStatus?: DisableResourceStatus | null, waiting?: Waiting | null, conditions?: Array<Condition>, };

/**
 * Is what runs healthy?
 */
export type RuntimeStatus = "unknown" | "ok" | "pending" | "error" | "not_applicable" | "none";

/**
 * Is what runs made from what is on disk?
 */
export type UpdateStatus = "none" | "pending" | "in_progress" | "ok" | "error" | "not_applicable";

export type BuildRunning = { startTime?: Timestamp | null, spanID?: string, };

export type BuildTerminated = { error?: string, warnings?: Array<string>, startTime?: Timestamp | null, finishTime?: Timestamp | null, spanID?: string, isCrashRebuild?: boolean, };

export type EndpointLink = { url?: string, name?: string, };

export type KubernetesInfo = { podName?: string, 
/**
 * Written as `null` where there is none, as Tilt does.
 */
podCreationTime?: Timestamp | null, 
/**
 * Written as `null` where there is none, as Tilt does.
 */
podUpdateStartTime?: Timestamp | null, podStatus?: string, podStatusMessage?: string, allContainersReady?: boolean, podRestarts?: number, spanID?: string, 
/**
 * The objects of the resource, as `web:deployment`.
 */
displayNames?: Array<string>, };

export type LocalInfo = { pid?: number, isTest?: boolean, };

export type TargetSpec = { id?: string, 
/**
 * `image`, `k8s`, `local` …
 */
type?: string, hasLiveUpdate?: boolean, };

export type DisableResourceStatus = { enabledCount: number, disabledCount: number, 
/**
 * `Enabled`, `Disabled` or `Pending`.
 */
state: string, sources: unknown[], };

/**
 * Why an update does not start, in Tilt's words.
 */
export type Waiting = { reason: string, on?: Array<WaitingOn>, };

export type WaitingOn = { group: string, apiVersion: string, kind: string, name: string, };

export type Condition = { 
/**
 * `Ready` or `UpToDate`.
 */
type: string, 
/**
 * `True`, `False` or `Unknown`.
 */
status: string, lastTransitionTime?: Timestamp | null, reason?: string, message?: string, };

export type UISession = { apiVersion: string, kind: string, metadata: ObjectMeta, status: UISessionStatus, };

export type UISessionStatus = { fatalError?: string, runningTiltBuild: TiltBuild, tiltStartTime?: Timestamp | null, tiltfileKey?: string, };

export type TiltBuild = { version?: string, commitSHA?: string, date?: string, dev: boolean, };

/**
 * A cluster, Docker engine or registry that does not respond.
 *
 * Front ends show it as it is, so that all of them use the same words.
 */
export type UnreachableService = { 
/**
 * `Cluster kind-dev is unreachable`.
 */
title: string, 
/**
 * Why, in one sentence.
 */
message: string, 
/**
 * The address of a cluster's API server, where it is known.
 */
server?: string, 
/**
 * What to do about it.
 */
hint?: string, since: Timestamp, };

/**
 * One line, or a piece of one: output that has no line end for a while, or none for very long, comes in pieces.
 */
export type Line = { 
/**
 * Counts all lines of the session, without gaps.
 */
seq: number, time: Timestamp, 
/**
 * None: lilt itself.
 */
resource?: ResourceName | null, span: SpanId, source: Source, level: Level, 
/**
 * Without the line end; may contain ANSI sequences.
 */
text: string, 
/**
 * This piece goes on where the last one of its span ended.
 */
continues?: boolean, 
/**
 * The line has not ended with this piece.
 */
open?: boolean, 
/**
 * Where an update begins; shown whatever level is asked for, so that one sees which update the others are of.
 */
headline?: boolean, };

export type Level = "info" | "warn" | "error";

/**
 * Which half of a resource's life a line belongs to.
 */
export type Source = "build" | "runtime";

/**
 * The answer to `GET /api/lines`.
 */
export type LogPage = { 
/**
 * In order.
 */
lines: Array<Line>, 
/**
 * Where to go on: `from` this number forwards, `before` it backwards. None: there is nothing more that way, now.
 */
next?: number, 
/**
 * The number of the oldest line that is kept.
 */
begin: number, 
/**
 * The number that the next line of the session will get.
 */
end: number, };

/**
 * The answer to `GET /api/sections`.
 */
export type LogSections = { 
/**
 * Oldest first.
 */
sections: Array<SpanId>, };

/**
 * The answer to `GET /api/count`.
 */
export type LineCount = { count: number, 
/**
 * Where to go on: `from` this number.
 */
next: number, 
/**
 * That was all, now.
 */
done: boolean, };

/**
 * A notice as readers see it.
 */
export type ReportedNotice = { 
/**
 * `pod/web-1`, `replicaset/web-6b487f9d4c` …
 */
about: string, warning: boolean, reason: string, message: string, at: Timestamp, };

/**
 * An applied object as the cluster has it now, for readers.
 */
export type ReportedObject = { 
/**
 * `web:deployment`, with the namespace where that is not the session's.
 */
name: string, 
/**
 * None for kinds that tell nothing of themselves.
 */
conditions: Array<Condition>, 
/**
 * What is to be said of it besides: it is gone, is being deleted, may not be read.
 */
remark?: string, };

export type Request = { "type": "trigger", resource: ResourceName, reason: number, } | { "type": "cancel", resource: ResourceName, } | { "type": "switch", enable: Array<ResourceName>, disable: Array<ResourceName>, } | { "type": "set_trigger_mode", resources: Array<ResourceName>, mode: TriggerMode, } | { "type": "set_args", args: Array<string>, } | { "type": "reconnect" };

export type TriggerMode = "auto" | "manual";

/**
 * The answer to `GET /api/timeline`.
 */
export type Timeline = { resources: Array<ResourceTimeline>, };

export type ResourceTimeline = { name: ResourceName, 
/**
 * Oldest first.
 */
updates: Array<UpdateRecord>, };

/**
 * One update of a resource, or one load of the Tiltfile.
 */
export type UpdateRecord = { 
/**
 * Its number; greater is later.
 */
update: number, 
/**
 * What caused it, in words.
 */
cause: string, 
/**
 * When it began to wait for its turn, or to run where there was nothing to wait for.
 */
begin: Timestamp, end?: Timestamp | null, outcome: Outcome, error?: string | null, stages: Array<Stage>, };

export type Outcome = "running" | "ok" | "failed" | "cancelled" | "superseded";

/**
 * A part of an update, or of what follows a deployment.
 */
export type Stage = { stage: StageKind, 
/**
 * The image, the reference, the command …
 */
detail?: string, begin: Timestamp, end?: Timestamp | null, };

export type StageKind = "wait" | "load" | "build" | "push" | "deploy" | "run" | "detect" | "send" | "write" | "restart" | "missed" | "schedule" | "pull" | "start" | "ready";

export type RunningSession = { 
/**
 * Of the folder that its Tiltfile is in.
 */
name: string, tiltfile: string, port: number, 
/**
 * Its page, with a one-time code that lets this user's browser in.
 */
link: string, 
/**
 * IP addresses on which it listens. Anyone may listen on the others, and must not get the code.
 */
addresses: Array<string>, 
/**
 * It is the one that answers.
 */
current: boolean, };

/** Where lilt says more than Tilt's fields can hold. */
export const annotation = {
  hold: "lilt.dev/hold",
  cause: "lilt.dev/cause",
  runtimeMessage: "lilt.dev/runtime-message",
  forwards: "lilt.dev/forwards",
  drift: "lilt.dev/drift",
  unreachable: "lilt.dev/unreachable",
  unreachableCluster: "lilt.dev/unreachable-cluster",
} as const;
