/** The sessions of this machine, to switch between. */

import { useSignal } from "@preact/signals";
import type { RunningSession } from "../generated/protocol";
import { fromHere } from "../model/endpoint";
import { notify, project, snapshot } from "../page";
import { Menu } from "./Menu";

export function Sessions() {
  const found = useSignal<readonly RunningSession[]>([]);
  const look = async () => {
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
          {others.length === 0 ? <span class="muted">No other session runs here.</span> : null}
          {others.map(({ name, tiltfile, port, link }) => (
            <a key={port} href={fromHere(link, location.hostname)} title={tiltfile}>
              {name} <span class="muted">port {port}</span>
            </a>
          ))}
          <a href="/api/snapshot" download="">
            Save a snapshot
          </a>
        </>
      )}
    </Menu>
  );
}
