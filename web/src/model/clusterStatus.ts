/** Which clusters the session speaks to, and whether they answer. */

import { fetchJson } from "../connection/http";
import type { ObjectMeta } from "../generated/protocol";

/** Only what the page looks at. */
export interface Cluster {
  metadata: ObjectMeta;
  status?: {
    connection?: { kubernetes?: { context?: string; namespace?: string; product?: string } };
    version?: string;
    error?: string;
    connectedAt?: string;
  };
}

export interface ClusterSummary {
  /** `kind-dev, namespace default`. */
  name: string;
  /** `answers (v1.34.1)`, or why it does not. */
  state: string;
  failed: boolean;
}

export async function fetchClusters(): Promise<readonly Cluster[]> {
  return (await fetchJson<{ items: Cluster[] }>("/proxy/apis/tilt.dev/v1alpha1/clusters")).items;
}

export function summarizeCluster({ metadata, status }: Cluster): ClusterSummary {
  const { context, namespace } = status?.connection?.kubernetes ?? {};
  const name = [context || metadata.name, namespace ? `namespace ${namespace}` : ""]
    .filter(Boolean)
    .join(", ");
  if (status?.error) return { name, state: status.error, failed: true };
  if (!status?.connectedAt) return { name, state: "is asked for the first time", failed: false };
  return { name, state: status.version ? `answers (${status.version})` : "answers", failed: false };
}
