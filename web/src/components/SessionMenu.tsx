/** The sessions of this machine, to switch between. */

import { useSignal } from "@preact/signals";
import type { RunningSession } from "../generated/protocol";
import { clusterWords, fetchClusters, type Cluster } from "../model/clusterStatus";
import { linkTo } from "../model/endpoint";
import { notify, project, snapshot } from "../app/page";
import { Mark } from "./StatusIcon";
import { Menu } from "./Menu";

export function Sessions() {
  const found = useSignal<readonly RunningSession[]>([]);
  const clusters = useSignal<readonly Cluster[]>([]);
  const look = async () => {
    // Without an answer there is nothing to say of them, and the rest of the page says why.
    void fetchClusters().then(
      (all) => (clusters.value = all),
      () => (clusters.value = []),
    );
    try {
      const response = await fetch("/api/sessions");
      if (!response.ok) throw new Error((await response.text()).trim());
      found.value = (await response.json()) as RunningSession[];
    } catch (error) {
      notify(`Other sessions are not known: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  if (!project.value) return null;
  // It knows of no sessions, and is saved already.
  if (snapshot.value !== undefined) return <span class="sessions">{project.value}</span>;
  const others = found.value.filter(({ current }) => !current);
  return (
    <Menu
      class="sessions"
      title="Sessions of this machine"
      onOpen={() => void look()}
      summary={
        <>
          <span class="hidden">Session: </span>
          <span class="session-name">{project.value}</span>
          <span aria-hidden="true"> ▾</span>
        </>
      }
    >
      {() => (
        <>
          <Clusters clusters={clusters.value} />
          {others.length === 0 ? <span class="muted">No other session runs here.</span> : null}
          {others.map((other) => (
            <Other key={other.port} session={other} />
          ))}
          <a href="/api/snapshot" download="">
            Save a snapshot
          </a>
        </>
      )}
    </Menu>
  );
}

/** Another session: a link, or what to run where one could lead to somebody else. */
function Other({ session }: { session: RunningSession }) {
  const { name, tiltfile, port } = session;
  const link = linkTo(session, location);
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

/** Where what is deployed goes: nobody wants to find out that it was another cluster. */
function Clusters({ clusters }: { clusters: readonly Cluster[] }) {
  if (clusters.length === 0) return null;
  return (
    <ul class="clusters" aria-label="Clusters of this session">
      {clusters.map((cluster) => {
        const { name, state, failed } = clusterWords(cluster);
        return (
          <li key={cluster.metadata.name}>
            <Mark shape={failed ? "error" : cluster.status?.connectedAt ? "ok" : "busy"} />
            <span>
              {name} <span class={failed ? "cluster-failed" : "muted"}>{state}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}
