/** The menu of the project's name: the session's clusters, and the other sessions of this machine. */

import { useSignal } from "@preact/signals";
import { errorMessage, fetchJson } from "../connection/http";
import type { RunningSession } from "../generated/protocol";
import { summarizeCluster, fetchClusters, type Cluster } from "../model/clusterStatus";
import { linkToSession } from "../model/endpoint";
import { projectName, showToast, snapshotTime } from "../app/appState";
import { StatusIcon } from "./StatusIcon";
import { Menu } from "./Menu";

export function SessionMenu() {
  const sessions = useSignal<readonly RunningSession[]>([]);
  const clusters = useSignal<readonly Cluster[]>([]);
  const load = async () => {
    // A failure is not shown here: without a connection the banner reports it.
    void fetchClusters().then(
      (all) => (clusters.value = all),
      () => (clusters.value = []),
    );
    try {
      sessions.value = await fetchJson<RunningSession[]>("/api/sessions");
    } catch (error) {
      showToast(`Other sessions are not known: ${errorMessage(error)}`);
    }
  };
  if (!projectName.value) return null;
  // A snapshot has no other sessions and is saved already.
  if (snapshotTime.value !== undefined) return <span class="sessions">{projectName.value}</span>;
  const others = sessions.value.filter(({ current }) => !current);
  return (
    <Menu
      class="sessions"
      title="Sessions of this machine"
      onOpen={() => void load()}
      summary={
        <>
          <span class="visually-hidden">Session: </span>
          <span class="session-name">{projectName.value}</span>
          <span aria-hidden="true"> ▾</span>
        </>
      }
    >
      {() => (
        <>
          <Clusters clusters={clusters.value} />
          {others.length === 0 ? <span class="muted">No other session runs here.</span> : null}
          {others.map((other) => (
            <OtherSession key={other.port} session={other} />
          ))}
          <a href="/api/snapshot" download="">
            Save a snapshot
          </a>
        </>
      )}
    </Menu>
  );
}

/** Another session: a link, or the command to run where the link could lead to another server. */
function OtherSession({ session }: { session: RunningSession }) {
  const { name, tiltfile, port } = session;
  const link = linkToSession(session, location);
  if (link === undefined) {
    return (
      <span class="other-session" title={tiltfile}>
        {name} <code>lilt open --port {port}</code>
      </span>
    );
  }
  return (
    <a href={link} title={tiltfile}>
      {name} <span class="muted">port {port}</span>
    </a>
  );
}

/** The clusters that the session deploys to, so that nobody deploys to the wrong one. */
function Clusters({ clusters }: { clusters: readonly Cluster[] }) {
  if (clusters.length === 0) return null;
  return (
    <ul class="clusters" aria-label="Clusters of this session">
      {clusters.map((cluster) => {
        const { name, state, failed } = summarizeCluster(cluster);
        return (
          <li key={cluster.metadata.name}>
            <StatusIcon shape={failed ? "error" : cluster.status?.connectedAt ? "ok" : "busy"} />
            <span>
              {name} <span class={failed ? "cluster-failed" : "muted"}>{state}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}
