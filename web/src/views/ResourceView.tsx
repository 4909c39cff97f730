import type { UIResourceKubernetes, UIResource } from "../generated/protocol";
import { annotation } from "../generated/protocol";
import { LogPane } from "../logs/LogPane";
import { formatRestarts } from "../model/clusterDetails";
import {
  isDisabled,
  isWaitingForTrigger,
  resourceKind,
  resourceMessages,
  runtimeStatus,
  updateStatus,
} from "../model/status";
import { setEnabled } from "../app/actions";
import { buttons, session, snapshotTime } from "../app/appState";
import { ClusterPanel } from "../components/ClusterPanel";
import { CopyButton } from "../components/CopyButton";
import { CustomButtons } from "../components/CustomButton";
import { Endpoints } from "../components/Endpoints";
import { RouteLink } from "../components/RouteLink";
import { StatusCell } from "../components/StatusCell";
import { TriggerModeButton } from "../components/TriggerModeButton";
import { StarButton } from "../components/StarButton";
import { TriggerButton } from "../components/TriggerButton";
import { UpdateHistory } from "../components/UpdateHistory";
import { UpdateTime } from "../components/UpdateTime";
import { togglePanel, activePanel } from "../model/resourcePanel";
import { TILTFILE } from "../model/session";

export function ResourceView({ name }: { name: string }) {
  const resource = session.resource(name)?.value;
  return (
    <main id="main" class="detail-view">
      {resource ? <ResourceHeader resource={resource} /> : <ResourceNotFound name={name} />}
      {resource ? <LogPane resource={name} /> : null}
    </main>
  );
}

function ResourceNotFound({ name }: { name: string }) {
  return (
    <div class="empty">
      <h1>{name}</h1>
      <p>
        {session.isLoaded.value
          ? "There is no resource of this name in the Tiltfile."
          : "Waiting for the session…"}
      </p>
      <RouteLink to={{ view: "overview" }}>All resources</RouteLink>
    </div>
  );
}

function ResourceHeader({ resource }: { resource: UIResource }) {
  const { metadata, status } = resource;
  const pod = status.k8sResourceInfo;
  const cause = metadata.annotations?.[annotation.cause];
  return (
    <section class="resource-header" aria-label="State">
      <div class="resource-title-row">
        <StarButton name={metadata.name} />
        <h1>{metadata.name}</h1>
        <span class="chips">
          {resourceKind(resource) ? <span class="chip">{resourceKind(resource)}</span> : null}
          {Object.keys(metadata.labels ?? {}).map((label) => (
            <span class="chip" key={label}>
              {label}
            </span>
          ))}
        </span>
        <span class="resource-actions">
          <CustomButtons buttons={buttons.forResource(metadata.name)} />
          {isDisabled(resource) ? null : <TriggerModeButton resource={resource} />}
          {metadata.name === TILTFILE || snapshotTime.value !== undefined ? null : (
            <button type="button" onClick={() => setEnabled([metadata.name], isDisabled(resource))}>
              {isDisabled(resource) ? "Enable" : "Disable"}
            </button>
          )}
          {isDisabled(resource) ? null : <TriggerButton resource={resource} wide />}
        </span>
      </div>
      <dl class="facts">
        <div>
          <dt>Update</dt>
          <dd>
            <StatusCell status={updateStatus(resource)}>
              <UpdateTime resource={resource} />
            </StatusCell>
          </dd>
        </div>
        <div>
          <dt>Runtime</dt>
          <dd>
            <StatusCell status={runtimeStatus(resource)}>{podSummary(pod)}</StatusCell>
          </dd>
        </div>
        {pod?.podName ? (
          <div>
            <dt>Pod</dt>
            <dd class="mono pod-line">
              {pod.podName}
              <CopyButton text={pod.podName} description={`the pod's name ${pod.podName}`} />
            </dd>
          </div>
        ) : null}
        {cause ? (
          <div>
            <dt>Cause of the last update</dt>
            <dd>{cause}</dd>
          </div>
        ) : null}
        {status.endpointLinks?.length ? (
          <div>
            <dt>Endpoints</dt>
            <dd>
              <Endpoints links={status.endpointLinks} />
            </dd>
          </div>
        ) : null}
      </dl>
      <Messages resource={resource} />
      <Panels resource={resource} />
    </section>
  );
}

function Panels({ resource }: { resource: UIResource }) {
  const openPanel = activePanel.value;
  const inCluster = resource.status.k8sResourceInfo !== undefined && resource.status.k8sResourceInfo !== null;
  const tabs = [
    { name: "why", label: "Why and when", isAvailable: true },
    { name: "cluster", label: "In the cluster", isAvailable: inCluster },
  ] as const;
  return (
    <div class="panels">
      <div class="panel-tabs">
        {tabs
          .filter(({ isAvailable }) => isAvailable)
          .map(({ name, label }) => (
            <button
              key={name}
              type="button"
              class="quiet"
              aria-expanded={openPanel === name}
              onClick={() => togglePanel(name)}
            >
              {label}
            </button>
          ))}
      </div>
      {openPanel === "why" ? (
        <section class="panel" aria-label="Why and when">
          <HoldReason resource={resource} />
          <UpdateHistory resource={resource} />
        </section>
      ) : null}
      {openPanel === "cluster" && inCluster ? (
        <section class="panel" aria-label="In the cluster">
          <ClusterPanel resource={resource} />
        </section>
      ) : null}
    </div>
  );
}

/** Why the resource's next update has not started, if it is held. */
function HoldReason({ resource }: { resource: UIResource }) {
  const hold = resource.metadata.annotations?.[annotation.hold];
  const withoutHold = resource.status.currentBuild ? "It is being updated now." : "It waits for nothing.";
  return (
    <p class={hold && !isWaitingForTrigger(hold) ? "hold-reason" : "muted"}>
      {hold ? `Waiting: ${hold}` : withoutHold}
    </p>
  );
}

/** Returns the pod's status unless it is `Running`, and its restarts. */
function podSummary(pod: UIResourceKubernetes | null | undefined): string {
  const state = pod?.podStatus === "Running" ? "" : (pod?.podStatus ?? "");
  const restarts = pod?.podRestarts ? formatRestarts(pod.podRestarts) : "";
  return [state, restarts].filter(Boolean).join(" · ");
}

function Messages({ resource }: { resource: UIResource }) {
  // Shown above already.
  const cause = resource.metadata.annotations?.[annotation.cause];
  const shownMessages = resourceMessages(resource).filter((message) => message.text !== cause);
  if (shownMessages.length === 0) return null;
  const labels = { error: "Error", warning: "Warning", hold: "Waiting", manual: "Waiting", note: "Note" };
  return (
    <ul class="messages">
      {shownMessages.map((message, index) => (
        <li key={index} class={message.kind}>
          <strong>{labels[message.kind]}</strong>
          <pre>{message.text}</pre>
        </li>
      ))}
    </ul>
  );
}
