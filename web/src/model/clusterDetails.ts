/** What is known of a resource in a cluster: pods, events, port forwards, and the conditions of applied objects. */

import type {
  Container,
  ContainerStateTerminated,
  ContainerStateWaiting,
  KubernetesDiscovery,
  PortForward,
  Forward as ForwardSpec,
  Pod as ApiPod,
} from "../generated/objects";
import type {
  ObjectCondition as StatusCondition,
  ReportedNotice,
  ReportedObject,
} from "../generated/protocol";

interface ObjectList<Item> {
  items: Item[];
}

/** A condition as Kubernetes objects have it in their status. */
export type ObjectCondition = Omit<StatusCondition, "lastTransitionTime">;

/** The fields that the page uses. */
export interface ContainerState
  extends Pick<Container, "name">, Partial<Pick<Container, "image" | "ready" | "restarts">> {
  state?: {
    waiting?: Partial<ContainerStateWaiting> | null;
    running?: unknown;
    terminated?: Partial<ContainerStateTerminated> | null;
  };
}

export type Pod = Pick<ApiPod, "name"> & Partial<ApiPod>;

export interface Forward extends Partial<ForwardSpec> {
  localPort: number;
  error?: string;
  /** It listens, and a pod is connected. */
  open: boolean;
}

export interface ClusterDetails {
  pods: readonly Pod[];
  forwards: readonly Forward[];
  /** Newest first. */
  events: readonly ReportedNotice[];
}

const RESOURCE_ANNOTATION = "tilt.dev/resource";

const API_ROOT = "/proxy/apis/tilt.dev/v1alpha1";

async function get<Body>(address: string): Promise<Body | undefined> {
  const response = await fetch(address);
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as Body;
}

export async function fetchClusterDetails(resource: string): Promise<ClusterDetails> {
  const name = encodeURIComponent(resource);
  const [discovery, list, events] = await Promise.all([
    get<KubernetesDiscovery>(`${API_ROOT}/kubernetesdiscoveries/${name}`),
    get<ObjectList<PortForward>>(`${API_ROOT}/portforwards`),
    get<ReportedNotice[]>(`/api/notices?resource=${name}`),
  ]);
  const ownForwards = (list?.items ?? []).filter(
    (it) => it.metadata.annotations?.[RESOURCE_ANNOTATION] === resource,
  );
  return {
    pods: discovery?.status?.pods ?? [],
    forwards: ownForwards.flatMap(forwardsOf),
    events: (events ?? []).toReversed(),
  };
}

/** Reads the applied objects from the cluster, which may take a while. */
export async function fetchAppliedObjects(resource: string): Promise<readonly ReportedObject[]> {
  return (await get<ReportedObject[]>(`/api/objects?resource=${encodeURIComponent(resource)}`)) ?? [];
}

/** Conditions of these types report a problem when they are true. */
const BAD_WHEN_TRUE =
  /fail|error|degraded|pressure|unavailable|stalled|invalid|conflict|violat|nonstructural|terminating|disruption/i;
/** Conditions of these types report a state that is neither good nor bad. */
const NEUTRAL = /^(suspended|reconciling)$/i;

/** Returns the icon of a condition. */
export function conditionIcon({ type, status }: ObjectCondition): "ok" | "error" | "waiting" {
  if (status !== "True" && status !== "False") return "waiting";
  if (NEUTRAL.test(type)) return status === "True" ? "waiting" : "ok";
  if (BAD_WHEN_TRUE.test(type)) return status === "True" ? "error" : "ok";
  return status === "True" ? "ok" : "waiting";
}

/** Returns the detail to show beside a condition's type; empty for a condition that is true and good. */
export function conditionDetail(condition: ObjectCondition): string {
  if (conditionIcon(condition) === "ok") return condition.status === "True" ? "" : condition.status;
  const { reason, status, message } = condition;
  return [reason || status, message].filter(Boolean).join(": ");
}

function forwardsOf({ spec, status }: PortForward): Forward[] {
  return (spec.forwards ?? []).map((forward) => {
    const localPort = forward.localPort ?? 0;
    const state = status?.forwardStatuses?.find((it) => it.localPort === localPort);
    const { error } = state ?? {};
    const open = !error && (state?.addresses ?? []).length > 0;
    return { ...forward, localPort, open, ...(error && { error }) };
  });
}

/** Returns the state of a container as a text. */
export function describeContainer({ state, ready, restarts }: ContainerState): string {
  const restarted = restarts ? ` · ${formatRestarts(restarts)}` : "";
  if (state?.terminated) {
    const code = state.terminated.exitCode;
    return `ended${state.terminated.reason ? `: ${state.terminated.reason}` : ""}${code ? ` (${code})` : ""}${restarted}`;
  }
  if (state?.waiting) return `waiting${state.waiting.reason ? `: ${state.waiting.reason}` : ""}${restarted}`;
  return `${ready ? "ready" : "running, not ready"}${restarted}`;
}

export function formatRestarts(count: number): string {
  return count === 1 ? "1 restart" : `${count} restarts`;
}
