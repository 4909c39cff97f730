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
 * What all objects have.
 */
export type ObjectMeta = { 
/**
 * Its name, unique among its kind.
 */
name: string, 
/**
 * The beginning of a name that the server completes.
 */
generateName?: string, 
/**
 * Not used: these objects have no namespaces.
 */
namespace?: string, 
/**
 * Not used.
 */
selfLink?: string, 
/**
 * Tells it from later objects of the same name.
 */
uid?: string, 
/**
 * Another one after each change; who writes with an old one is refused.
 */
resourceVersion?: string, 
/**
 * Not used.
 */
generation?: number, 
/**
 * Short texts by name, for selectors.
 */
labels?: { [key in string]: string }, 
/**
 * Notes by name, of any content.
 */
annotations?: { [key in string]: string }, 
/**
 * When it was made.
 */
creationTimestamp?: Timestamp | null, 
/**
 * When its deletion was asked for.
 */
deletionTimestamp?: Time | null, 
/**
 * How long its deletion may take.
 */
deletionGracePeriodSeconds?: number, 
/**
 * To which objects it belongs. It goes with the last of them.
 */
ownerReferences?: Array<OwnerReference>, 
/**
 * What must be done before it goes; whoever does it takes its name out.
 */
finalizers?: Array<string>, 
/**
 * Who wrote which fields.
 */
managedFields?: Array<ManagedFieldsEntry>, };

/**
 * A resource as people see it: what it does, whether it is ready, what it waits for.
 */
export type UIResource = { 
/**
 * Group and version of the object.
 */
apiVersion: string, 
/**
 * What the object is.
 */
kind: string, 
/**
 * Name, labels and what else all objects have.
 */
metadata: ObjectMeta, 
/**
 * What is so. The session writes it.
 */
status: UIResourceStatus, };

/**
 * What is known of the resource.
 */
export type UIResourceStatus = { 
/**
 * When an update last succeeded.
 */
lastDeployTime?: Timestamp | null, 
/**
 * 0: saves update it; 1: they wait for a trigger; 2 and 3: the same, and it does not begin by itself (2 waits
 * for triggers always, 3 only at first).
 */
triggerMode?: number, 
/**
 * Its last updates, the newest first.
 */
buildHistory?: Array<UIBuildTerminated>, 
/**
 * The update that runs.
 */
currentBuild?: UIBuildRunning | null, 
/**
 * Since when an update is due.
 */
pendingBuildSince?: Timestamp | null, 
/**
 * Whether something was saved that no update has brought.
 */
hasPendingChanges?: boolean, 
/**
 * Where it can be looked at.
 */
endpointLinks?: Array<UIResourceLink>, 
/**
 * Its pod, if it is deployed to Kubernetes.
 */
k8sResourceInfo?: UIResourceKubernetes | null, 
/**
 * Its process, if it is a local one.
 */
localResourceInfo?: UIResourceLocal | null, 
/**
 * Its container, if it is a Docker Compose service.
 */
composeResourceInfo?: UIResourceCompose | null, 
/**
 * How it runs: ok, pending, error, none, unknown or not_applicable.
 */
runtimeStatus: RuntimeStatus, 
/**
 * How its updates go: ok, pending, in_progress, error, none or not_applicable.
 */
updateStatus: UpdateStatus, 
/**
 * What it is made of.
 */
specs?: Array<UIResourceTargetSpec>, 
/**
 * Whether somebody asked for an update.
 */
queued?: boolean, 
/**
 * Where it stands among the others.
 */
order?: number, 
/**
 * Whether the object is switched off, and by what.
 */
disableStatus?: DisableResourceStatus | null, 
/**
 * What its next update waits for.
 */
waiting?: UIResourceStateWaiting | null, 
/**
 * UpToDate and Ready.
 */
conditions?: Array<UIResourceCondition>, };

/**
 * Whether what runs is healthy.
 */
export type RuntimeStatus = "unknown" | "ok" | "pending" | "error" | "not_applicable" | "none";

/**
 * Whether what runs was made from what is on disk.
 */
export type UpdateStatus = "none" | "pending" | "in_progress" | "ok" | "error" | "not_applicable";

/**
 * An update that runs.
 */
export type UIBuildRunning = { 
/**
 * When it began.
 */
startTime?: Timestamp | null, 
/**
 * The section of the log that tells of it.
 */
spanID?: string, };

/**
 * An update that has ended.
 */
export type UIBuildTerminated = { 
/**
 * What went wrong; empty if nothing did.
 */
error?: string, 
/**
 * What it warned of.
 */
warnings?: Array<string>, 
/**
 * When it began.
 */
startTime?: Timestamp | null, 
/**
 * When it ended.
 */
finishTime?: Timestamp | null, 
/**
 * The section of the log that tells of it.
 */
spanID?: string, 
/**
 * Whether it replaced a container that had lost its live updates.
 */
isCrashRebuild?: boolean, };

/**
 * Where something can be looked at.
 */
export type UIResourceLink = { 
/**
 * The address.
 */
url?: string, 
/**
 * What the link is called.
 */
name?: string, };

/**
 * The newest pod of a resource.
 */
export type UIResourceKubernetes = { 
/**
 * Its name.
 */
podName?: string, 
/**
 * When it was made.
 */
podCreationTime?: Timestamp | null, 
/**
 * When the update that made it began.
 */
podUpdateStartTime?: Timestamp | null, 
/**
 * How it is, as `kubectl get pods` says it.
 */
podStatus?: string, 
/**
 * Why, if something is wrong.
 */
podStatusMessage?: string, 
/**
 * Whether all its containers are ready.
 */
allContainersReady?: boolean, 
/**
 * How often its containers were started again.
 */
podRestarts?: number, 
/**
 * The section of the log that tells of it.
 */
spanID?: string, 
/**
 * The objects of the resource, as name:kind.
 */
displayNames?: Array<string>, };

/**
 * The process of a local resource.
 */
export type UIResourceLocal = { 
/**
 * The number of its server's process; 0 if none runs.
 */
pid?: number, 
/**
 * Whether it is a test.
 */
isTest?: boolean, };

/**
 * A part of a resource.
 */
export type UIResourceTargetSpec = { 
/**
 * What it is called, such as image:web.
 */
id?: string, 
/**
 * image, k8s, local or docker-compose.
 */
type?: string, 
/**
 * Whether saved files are copied into its containers.
 */
hasLiveUpdate?: boolean, };

/**
 * Whether a resource is off.
 */
export type DisableResourceStatus = { 
/**
 * How many of its parts are on.
 */
enabledCount: number, 
/**
 * How many of its parts are off.
 */
disabledCount: number, 
/**
 * Enabled, Disabled, Pending while a value is missing, or Error.
 */
state: string, 
/**
 * Where it is written.
 */
sources: Array<DisableSource>, };

/**
 * What an update waits for.
 */
export type UIResourceStateWaiting = { 
/**
 * Why, in a word or a sentence.
 */
reason: string, 
/**
 * The objects that it waits for.
 */
on?: Array<UIResourceStateWaitingOnRef>, };

/**
 * An object that is waited for.
 */
export type UIResourceStateWaitingOnRef = { 
/**
 * The group of its kind.
 */
group: string, 
/**
 * Group and version of the object.
 */
apiVersion: string, 
/**
 * What the object is.
 */
kind: string, 
/**
 * The name.
 */
name: string, };

/**
 * Something that is so of a resource, or is not.
 */
export type UIResourceCondition = { 
/**
 * UpToDate or Ready.
 */
type: string, 
/**
 * True, False or Unknown.
 */
status: string, 
/**
 * Since when it is so.
 */
lastTransitionTime?: Timestamp | null, 
/**
 * Why, in a word or a sentence.
 */
reason?: string, 
/**
 * More about it, for people.
 */
message?: string, };

/**
 * A container of Docker Compose.
 */
export type UIResourceCompose = { 
/**
 * What its health check says.
 */
healthStatus?: string, };

/**
 * Where it is written whether something is off; one of them.
 */
export type DisableSource = { 
/**
 * Off if this value is true.
 */
configMap?: ConfigMapDisableSource | null, 
/**
 * Off if all of these values are true.
 */
everyConfigMap?: Array<ConfigMapDisableSource>, };

/**
 * A value of a ConfigMap that says whether something is off.
 */
export type ConfigMapDisableSource = { 
/**
 * The name of the ConfigMap.
 */
name: string, 
/**
 * Which value of it: true or false.
 */
key: string, };

/**
 * An object that others belong to.
 */
export type OwnerReference = { 
/**
 * Group and version of the object.
 */
apiVersion: string, 
/**
 * What the object is.
 */
kind: string, 
/**
 * The name.
 */
name: string, 
/**
 * The uid of the owner.
 */
uid: string, 
/**
 * Whether the owner manages it.
 */
controller?: boolean, 
/**
 * Whether the owner waits for it when it is deleted in the foreground.
 */
blockOwnerDeletion?: boolean, };

/**
 * What one manager has written.
 */
export type ManagedFieldsEntry = { 
/**
 * Who.
 */
manager?: string, 
/**
 * Apply, or Update for every other way to write.
 */
operation?: string, 
/**
 * Group and version of the object.
 */
apiVersion?: string, 
/**
 * When.
 */
time?: Time | null, 
/**
 * FieldsV1.
 */
fieldsType?: string, 
/**
 * The fields, as a tree.
 */
fieldsV1?: unknown, 
/**
 * The part of the object that was written.
 */
subresource?: string, };

/**
 * What the web page shows about the session as a whole.
 */
export type UISession = { 
/**
 * Group and version of the object.
 */
apiVersion: string, 
/**
 * What the object is.
 */
kind: string, 
/**
 * Name, labels and what else all objects have.
 */
metadata: ObjectMeta, 
/**
 * What is so. The session writes it.
 */
status: UISessionStatus, };

/**
 * What the page shows.
 */
export type UISessionStatus = { 
/**
 * Why the session is about to end.
 */
fatalError?: string, 
/**
 * The version that it is compatible with.
 */
runningTiltBuild: TiltBuild, 
/**
 * A newer version, if there is one.
 */
suggestedTiltVersion?: string, 
/**
 * The user of Tilt Cloud, which is not used.
 */
tiltCloudUsername?: string, 
/**
 * The name of that team, which is not asked for.
 */
tiltCloudTeamName?: string, 
/**
 * The address of Tilt Cloud, which is not used.
 */
tiltCloudSchemeHost?: string, 
/**
 * The team that the Tiltfile names.
 */
tiltCloudTeamID?: string, 
/**
 * Whether people are to be asked about analytics; there are none.
 */
needsAnalyticsNudge?: boolean, 
/**
 * When the session began.
 */
tiltStartTime?: Timestamp | null, 
/**
 * The main Tiltfile: tells sessions apart.
 */
tiltfileKey?: string, 
/**
 * What is switched on of what is tried out.
 */
featureFlags?: Array<UIFeatureFlag>, 
/**
 * What the Tiltfile says about versions.
 */
versionSettings?: VersionSettings | null, };

/**
 * A version of the program.
 */
export type TiltBuild = { 
/**
 * Its number.
 */
version?: string, 
/**
 * What it was built from.
 */
commitSHA?: string, 
/**
 * When it was built.
 */
date?: string, 
/**
 * Whether it is no release.
 */
dev: boolean, };

/**
 * Something that is tried out.
 */
export type UIFeatureFlag = { 
/**
 * The name.
 */
name: string, 
/**
 * Whether it is on.
 */
value: boolean, };

/**
 * What the Tiltfile says about versions.
 */
export type VersionSettings = { 
/**
 * Whether people are told of newer versions.
 */
checkUpdates: boolean, };

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
