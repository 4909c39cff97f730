/** The clusters that the session uses, and whether they respond. */

import { fetchJson } from "../connection/http";
import type { ObjectMeta } from "../generated/protocol";

/** The fields that the page uses. */
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
  /** For example `kind-dev, namespace default`. */
  name: string;
  /** For example `answers (v1.34.1)`, otherwise the error. */
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
