// Written by `cargo test -p lilt-server --features ts`; do not edit.

import type { UIButton } from "./objects";

export type ServerMessage = { "type": "hello", 
/**
 * The version of lilt.
 */
version: string, 
/**
 * Identifies the session. If it differs from that of the last connection, logs are to be forgotten.
 */
session_id: string, revision: number, 
/**
 * The time of the snapshot, if it is one: nothing changes, and requests are refused.
 */
snapshot?: Timestamp, } | { "type": "state", 
/**
 * Whether these are all resources, so that others are to be forgotten.
 */
complete: boolean, 
/**
 * New or changed resources, complete, in no order.
 */
resources: Array<UIResource>, removed: Array<ResourceName>, 
/**
 * Only if it changed.
 */
session?: UISession, } | { "type": "lines", 
/**
 * The `Follow` that these lines belong to.
 */
follow: number, lines: Array<Line>, 
/**
 * The position of the page: all matching lines before this number have been sent.
 */
next: number, 
/**
 * Whether lines before these were skipped, because there were too many.
 */
gap?: boolean, } | { "type": "log", 
/**
 * The number of the oldest stored line.
 */
begin: number, 
/**
 * The number that the next line will get.
 */
end: number, } | { "type": "buttons", 
/**
 * Whether these are all buttons.
 */
complete: boolean, buttons: Array<UIButton>, removed: Array<string>, } | { "type": "refused", message: string, } | { "type": "tick" };

export type PageMessage = { "type": "ask", request: Request, } | { "type": "follow", 
/**
 * Chosen by the page; returned with the lines.
 */
follow: number, 
/**
 * The filter, as in the query of `/api/lines`.
 */
query: string, from: number, } | { "type": "unfollow" };

/**
 * What the user calls a resource. Unique in a project.
 */
export type ResourceName = string;

/**
 * A section of the log: one update, one container of a pod, one run of a server.
 */
export type SpanId = string;

/**
 * Microseconds since 1970, serialized as Kubernetes' `MicroTime` (`2026-11-15T19:51:53.000001Z`).
 */
export type Timestamp = string;

/**
 * A time in whole seconds.
 */
export type Time = string;

/**
 * Metadata that every object has.
 */
export type ObjectMeta = { 
/**
 * Name of the object, unique within its kind.
 */
name: string, 
/**
 * Prefix of a name that the server generates if `name` is empty.
 */
generateName?: string, 
/**
 * Not used: objects of this API have no namespace.
 */
namespace?: string, 
/**
 * Not used.
 */
selfLink?: string, 
/**
 * Unique ID of the object; an object recreated with the same name has a different one.
 */
uid?: string, 
/**
 * Version of the object; changes with every update. Updates with an outdated version are rejected.
 */
resourceVersion?: string, 
/**
 * Not used.
 */
generation?: number, 
/**
 * Key-value pairs to organize and select objects.
 */
labels?: { [key in string]: string }, 
/**
 * Key-value pairs with arbitrary metadata; not used for selection.
 */
annotations?: { [key in string]: string }, 
/**
 * Time when the object was created.
 */
creationTimestamp?: Timestamp | null, 
/**
 * Time when deletion of the object was requested.
 */
deletionTimestamp?: Time | null, 
/**
 * Seconds that the object has to terminate gracefully before it is removed.
 */
deletionGracePeriodSeconds?: number, 
/**
 * Owners of the object. It is deleted when the last of them is deleted.
 */
ownerReferences?: Array<OwnerReference>, 
/**
 * Names that must be removed before the object is deleted, each by the component responsible for it.
 */
finalizers?: Array<string>, 
/**
 * Fields set by each field manager.
 */
managedFields?: Array<ManagedFieldsEntry>, };

/**
 * The state of a resource, as shown to users: its updates, its readiness and its holds.
 */
export type UIResource = { 
/**
 * API group and version of the object.
 */
apiVersion: string, 
/**
 * Kind of the object.
 */
kind: string, 
/**
 * Standard object metadata.
 */
metadata: ObjectMeta, 
/**
 * The observed state, set by the session.
 */
status: UIResourceStatus, };

/**
 * The observed state of a resource.
 */
export type UIResourceStatus = { 
/**
 * Time of the last successful update.
 */
lastDeployTime?: Timestamp | null, 
/**
 * 0: auto. 1: manual. 2: manual, without an initial update. 3: auto, once triggered manually.
 */
triggerMode?: number, 
/**
 * Recent updates, newest first.
 */
buildHistory?: Array<UIBuildTerminated>, 
/**
 * The running update.
 */
currentBuild?: UIBuildRunning | null, 
/**
 * Time since when an update is pending.
 */
pendingBuildSince?: Timestamp | null, 
/**
 * Whether files changed since the last update.
 */
hasPendingChanges?: boolean, 
/**
 * Links to the endpoints of the resource.
 */
endpointLinks?: Array<UIResourceLink>, 
/**
 * Details of the pod; set for Kubernetes resources.
 */
k8sResourceInfo?: UIResourceKubernetes | null, 
/**
 * Details of the process; set for local resources.
 */
localResourceInfo?: UIResourceLocal | null, 
/**
 * Details of the container; set for Docker Compose resources.
 */
composeResourceInfo?: UIResourceCompose | null, 
/**
 * One of `ok`, `pending`, `error`, `none`, `unknown` and `not_applicable`.
 */
runtimeStatus: RuntimeStatus, 
/**
 * One of `ok`, `pending`, `in_progress`, `error`, `none` and `not_applicable`.
 */
updateStatus: UpdateStatus, 
/**
 * Targets of the resource.
 */
specs?: Array<UIResourceTargetSpec>, 
/**
 * Whether an update was requested.
 */
queued?: boolean, 
/**
 * Position in the list of resources.
 */
order?: number, 
/**
 * Whether the resource is disabled.
 */
disableStatus?: DisableResourceStatus | null, 
/**
 * The reason why the next update has not started.
 */
waiting?: UIResourceStateWaiting | null, 
/**
 * The conditions `UpToDate` and `Ready`.
 */
conditions?: Array<UIResourceCondition>, };

/**
 * Health of the running workload.
 */
export type RuntimeStatus = "unknown" | "ok" | "pending" | "error" | "not_applicable" | "none";

/**
 * Status of the updates of a resource.
 */
export type UpdateStatus = "none" | "pending" | "in_progress" | "ok" | "error" | "not_applicable";

/**
 * A running update.
 */
export type UIBuildRunning = { 
/**
 * Time when the update started.
 */
startTime?: Timestamp | null, 
/**
 * ID of the log span of the update.
 */
spanID?: string, };

/**
 * A finished update.
 */
export type UIBuildTerminated = { 
/**
 * The error; empty on success.
 */
error?: string, 
/**
 * Warnings of the update.
 */
warnings?: Array<string>, 
/**
 * Time when the update started.
 */
startTime?: Timestamp | null, 
/**
 * Time when the update finished.
 */
finishTime?: Timestamp | null, 
/**
 * ID of the log span of the update.
 */
spanID?: string, 
/**
 * Whether the update replaced a container that had lost its live updates.
 */
isCrashRebuild?: boolean, };

/**
 * A link to an endpoint of a resource.
 */
export type UIResourceLink = { 
/**
 * URL of the endpoint.
 */
url?: string, 
/**
 * Name of the link.
 */
name?: string, };

/**
 * The newest pod of a resource.
 */
export type UIResourceKubernetes = { 
/**
 * Name of the pod.
 */
podName?: string, 
/**
 * Time when the pod was created.
 */
podCreationTime?: Timestamp | null, 
/**
 * Start time of the update that created the pod.
 */
podUpdateStartTime?: Timestamp | null, 
/**
 * Status as shown by `kubectl get pods`.
 */
podStatus?: string, 
/**
 * Details of an unhealthy status.
 */
podStatusMessage?: string, 
/**
 * Whether all containers are ready.
 */
allContainersReady?: boolean, 
/**
 * Number of container restarts.
 */
podRestarts?: number, 
/**
 * ID of the log span of the pod.
 */
spanID?: string, 
/**
 * Objects of the resource, as `name:kind`.
 */
displayNames?: Array<string>, };

/**
 * The process of a local resource.
 */
export type UIResourceLocal = { 
/**
 * Process ID of the server; 0 if it is not running.
 */
pid?: number, 
/**
 * Whether the resource is a test.
 */
isTest?: boolean, };

/**
 * A target of a resource.
 */
export type UIResourceTargetSpec = { 
/**
 * ID of the target, such as `image:web`.
 */
id?: string, 
/**
 * `image`, `k8s`, `local` or `docker-compose`.
 */
type?: string, 
/**
 * Whether the target has a live update.
 */
hasLiveUpdate?: boolean, };

/**
 * Whether a resource is disabled.
 */
export type DisableResourceStatus = { 
/**
 * Number of sources of the resource that are enabled.
 */
enabledCount: number, 
/**
 * Number of sources of the resource that are disabled.
 */
disabledCount: number, 
/**
 * One of `Enabled`, `Disabled`, `Pending` (a value is missing) and `Error`.
 */
state: string, 
/**
 * Sources that determine whether the resource is disabled.
 */
sources: Array<DisableSource>, };

/**
 * The reason why an update has not started.
 */
export type UIResourceStateWaiting = { 
/**
 * Reason why the update has not started, such as `waiting-for-dep`.
 */
reason: string, 
/**
 * Objects that the update is waiting for.
 */
on?: Array<UIResourceStateWaitingOnRef>, };

/**
 * Reference to an object that an update is waiting for.
 */
export type UIResourceStateWaitingOnRef = { 
/**
 * API group of the object.
 */
group: string, 
/**
 * API group and version of the object.
 */
apiVersion: string, 
/**
 * Kind of the object.
 */
kind: string, 
/**
 * Name of the object.
 */
name: string, };

/**
 * One aspect of the state of a resource.
 */
export type UIResourceCondition = { 
/**
 * Type of the condition: `UpToDate` or `Ready`.
 */
type: string, 
/**
 * `True`, `False` or `Unknown`.
 */
status: string, 
/**
 * Time of the last change of `status`.
 */
lastTransitionTime?: Timestamp | null, 
/**
 * Reason for the last change of `status`.
 */
reason?: string, 
/**
 * Human-readable details.
 */
message?: string, };

/**
 * The container of a Docker Compose service.
 */
export type UIResourceCompose = { 
/**
 * Result of the container's health check.
 */
healthStatus?: string, };

/**
 * Source of the enabled state of an object; exactly one field is set.
 */
export type DisableSource = { 
/**
 * ConfigMap value that disables the object if it is `true`.
 */
configMap?: ConfigMapDisableSource | null, 
/**
 * ConfigMap values that disable the object if all of them are `true`.
 */
everyConfigMap?: Array<ConfigMapDisableSource>, };

/**
 * Reference to a ConfigMap value that enables or disables an object.
 */
export type ConfigMapDisableSource = { 
/**
 * Name of the ConfigMap.
 */
name: string, 
/**
 * Key of the value, which is `true` or `false`.
 */
key: string, };

/**
 * Reference to an object that owns this one.
 */
export type OwnerReference = { 
/**
 * API group and version of the owner.
 */
apiVersion: string, 
/**
 * Kind of the owner.
 */
kind: string, 
/**
 * Name of the owner.
 */
name: string, 
/**
 * UID of the owner.
 */
uid: string, 
/**
 * Whether the owner is the managing controller.
 */
controller?: boolean, 
/**
 * Whether foreground deletion of the owner waits until this object is deleted.
 */
blockOwnerDeletion?: boolean, };

/**
 * Fields set by one field manager.
 */
export type ManagedFieldsEntry = { 
/**
 * Name of the field manager.
 */
manager?: string, 
/**
 * `Apply`, or `Update` for any other write.
 */
operation?: string, 
/**
 * API version in which the fields were set.
 */
apiVersion?: string, 
/**
 * Time when the manager last changed the fields.
 */
time?: Time | null, 
/**
 * Format of the fields: always `FieldsV1`.
 */
fieldsType?: string, 
/**
 * Set of fields, as a tree.
 */
fieldsV1?: unknown, 
/**
 * Subresource that was written; empty for the object itself.
 */
subresource?: string, };

/**
 * The state of a session, as shown in the web UI.
 */
export type UISession = { 
/**
 * API group and version of the object.
 */
apiVersion: string, 
/**
 * Kind of the object.
 */
kind: string, 
/**
 * Standard object metadata.
 */
metadata: ObjectMeta, 
/**
 * The observed state, set by the session.
 */
status: UISessionStatus, };

/**
 * The observed state of a session.
 */
export type UISessionStatus = { 
/**
 * The error that ends the session; empty on success.
 */
fatalError?: string, 
/**
 * The Tilt version that this build is compatible with.
 */
runningTiltBuild: TiltBuild, 
/**
 * Newer version to update to; empty if there is none.
 */
suggestedTiltVersion?: string, 
/**
 * Not used: Tilt Cloud is not supported.
 */
tiltCloudUsername?: string, 
/**
 * Not used: Tilt Cloud is not supported.
 */
tiltCloudTeamName?: string, 
/**
 * Not used: Tilt Cloud is not supported.
 */
tiltCloudSchemeHost?: string, 
/**
 * Tilt Cloud team set in the Tiltfile.
 */
tiltCloudTeamID?: string, 
/**
 * Not used: there are no analytics.
 */
needsAnalyticsNudge?: boolean, 
/**
 * Time when the session started.
 */
tiltStartTime?: Timestamp | null, 
/**
 * Path of the main Tiltfile; identifies the session.
 */
tiltfileKey?: string, 
/**
 * Feature flags of the session.
 */
featureFlags?: Array<UIFeatureFlag>, 
/**
 * Version settings of the Tiltfile.
 */
versionSettings?: VersionSettings | null, };

/**
 * Version and origin of a build of the program.
 */
export type TiltBuild = { 
/**
 * Version number.
 */
version?: string, 
/**
 * Source revision of the build.
 */
commitSHA?: string, 
/**
 * Date of the build.
 */
date?: string, 
/**
 * Whether the build is not a release.
 */
dev: boolean, };

/**
 * A feature flag.
 */
export type UIFeatureFlag = { 
/**
 * Name of the flag.
 */
name: string, 
/**
 * Whether the feature is enabled.
 */
value: boolean, };

/**
 * Version settings of the Tiltfile.
 */
export type VersionSettings = { 
/**
 * Whether to notify users of newer versions.
 */
checkUpdates: boolean, };

/**
 * A cluster, Docker engine or registry that does not respond.
 */
export type UnreachableService = { 
/**
 * Summary, such as `Cluster kind-dev is unreachable`.
 */
title: string, 
/**
 * Cause, in one sentence.
 */
message: string, 
/**
 * Address of the cluster's API server, if known.
 */
server?: string, 
/**
 * Suggested fix.
 */
hint?: string, since: Timestamp, };

/**
 * A line, or a part of one: output without a line end is split after a while, or when it gets too long.
 */
export type Line = { 
/**
 * The number of the line in the session, without gaps.
 */
seq: number, time: Timestamp, 
/**
 * None: the line is lilt's own.
 */
resource?: ResourceName | null, span: SpanId, source: Source, level: Level, 
/**
 * Without the line end; may contain ANSI sequences.
 */
text: string, 
/**
 * Whether this part continues the previous one of its span.
 */
continues?: boolean, 
/**
 * Whether the line continues after this part.
 */
open?: boolean, 
/**
 * Whether this is the first line of an update. Shown at every level, so that readers see which update lines belong to.
 */
headline?: boolean, };

export type Level = "info" | "warn" | "error";

/**
 * Whether a line comes from an update or from the running resource.
 */
export type Source = "build" | "runtime";

/**
 * The response to `GET /api/lines`.
 */
export type LogPage = { 
/**
 * The lines in order.
 */
lines: Array<Line>, 
/**
 * Where to continue: `from` this number forwards, or `before` it backwards. None: there are no more lines now.
 */
next?: number, 
/**
 * The number of the oldest stored line.
 */
begin: number, 
/**
 * The number that the next line of the session will get.
 */
end: number, };

/**
 * The response to `GET /api/sections`.
 */
export type LogSections = { 
/**
 * Oldest first.
 */
sections: Array<SpanId>, };

/**
 * The response to `GET /api/count`.
 */
export type LineCount = { count: number, 
/**
 * Where to continue: `from` this number.
 */
next: number, 
/**
 * Whether all lines are counted.
 */
done: boolean, };

/**
 * A notice in the form in which the web port sends it.
 */
export type ReportedNotice = { 
/**
 * `pod/web-1`, `replicaset/web-6b487f9d4c` …
 */
about: string, warning: boolean, reason: string, message: string, at: Timestamp, };

/**
 * An applied object as it is in the cluster, in the form in which the web port sends it.
 */
export type ReportedObject = { 
/**
 * `web:deployment`, with the namespace where that is not the session's.
 */
name: string, 
/**
 * Empty for kinds without conditions.
 */
conditions: Array<ObjectCondition>, 
/**
 * That it is gone, is being deleted, or may not be read.
 */
remark?: string, };

/**
 * A condition in the status of an object of any kind.
 */
export type ObjectCondition = { type: string, 
/**
 * `True`, `False` or `Unknown`.
 */
status: string, lastTransitionTime?: Timestamp | null, reason?: string, message?: string, };

export type Request = { "type": "trigger", resource: ResourceName, reason: number, } | { "type": "cancel", resource: ResourceName, } | { "type": "switch", enable: Array<ResourceName>, disable: Array<ResourceName>, } | { "type": "set_trigger_mode", resources: Array<ResourceName>, mode: TriggerMode, } | { "type": "set_args", args: Array<string>, } | { "type": "reconnect" };

export type TriggerMode = "auto" | "manual";

/**
 * The response to `GET /api/timeline`.
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
 * The number of the update; later ones have greater numbers.
 */
update: number, 
/**
 * What caused it, as text.
 */
cause: string, 
/**
 * When it began to wait for an update slot, or to run if it did not wait.
 */
begin: Timestamp, end?: Timestamp | null, outcome: Outcome, error?: string | null, stages: Array<Stage>, };

export type Outcome = "running" | "ok" | "failed" | "cancelled" | "superseded";

/**
 * A stage of an update, or of the rollout that follows a deployment.
 */
export type Stage = { stage: StageKind, 
/**
 * The image, the reference, or the command.
 */
detail?: string, begin: Timestamp, end?: Timestamp | null, };

export type StageKind = "wait" | "load" | "build" | "push" | "deploy" | "run" | "detect" | "send" | "write" | "restart" | "missed" | "schedule" | "pull" | "start" | "ready";

export type RunningSession = { 
/**
 * The name of the Tiltfile's folder.
 */
name: string, tiltfile: string, port: number, 
/**
 * The link to its page, with a one-time code.
 */
link: string, 
/**
 * The IP addresses it listens on. Other processes may listen on other addresses, and must not get the code.
 */
addresses: Array<string>, 
/**
 * Whether it is the responding session.
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
