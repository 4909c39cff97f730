import type { KubernetesInfo, UIResource } from "../generated/protocol";
import { annotation } from "../generated/protocol";
import { LogPane } from "../logs/LogPane";
import { restartWords } from "../model/clusterDetails";
import { isDisabled, isDue, kind, messages, runtimeStatus, updateStatus } from "../model/status";
import { buttons, session, setEnabled, snapshot } from "../app/page";
import { ClusterPanel } from "../components/ClusterPanel";
import { CopyButton } from "../components/CopyButton";
import { CustomButtons } from "../components/CustomButton";
import { Endpoints } from "../components/Endpoints";
import { Link } from "../components/RouteLink";
import { StatusCell } from "../components/StatusCell";
import { ModeSwitch } from "../components/TriggerModeButton";
import { Star } from "../components/StarButton";
import { TriggerButton } from "../components/TriggerButton";
import { UpdateHistory } from "../components/UpdateHistory";
import { UpdateTime } from "../components/UpdateTime";
import { choosePanel, panel } from "../model/resourcePanel";
import { TILTFILE } from "../model/session";

export function ResourceView({ name }: { name: string }) {
  const resource = session.resource(name)?.value;
  return (
    <main id="main" class="detail-view">
      {resource ? <Head resource={resource} /> : <Missing name={name} />}
      {resource ? <LogPane resource={name} /> : null}
    </main>
  );
}

function Missing({ name }: { name: string }) {
  return (
    <div class="empty">
      <h1>{name}</h1>
      <p>
        {session.known.value
          ? "There is no resource of this name in the Tiltfile."
          : "Waiting for the session…"}
      </p>
      <Link to={{ view: "overview" }}>All resources</Link>
    </div>
  );
}

function Head({ resource }: { resource: UIResource }) {
  const { metadata, status } = resource;
  const pod = status.k8sResourceInfo;
  const cause = metadata.annotations?.[annotation.cause];
  return (
    <section class="head" aria-label="State">
      <div class="head-row">
        <Star name={metadata.name} />
        <h1>{metadata.name}</h1>
        <span class="chips">
          {kind(resource) ? <span class="chip">{kind(resource)}</span> : null}
          {Object.keys(metadata.labels ?? {}).map((label) => (
            <span class="chip" key={label}>
              {label}
            </span>
          ))}
        </span>
        <span class="head-actions">
          <CustomButtons buttons={buttons.of(metadata.name)} />
          {isDisabled(resource) ? null : <ModeSwitch resource={resource} />}
          {metadata.name === TILTFILE || snapshot.value !== undefined ? null : (
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
            <StatusCell status={runtimeStatus(resource)}>{podWords(pod)}</StatusCell>
          </dd>
        </div>
        {pod?.podName ? (
          <div>
            <dt>Pod</dt>
            <dd class="mono pod-line">
              {pod.podName}
              <CopyButton text={pod.podName} what={`the pod's name ${pod.podName}`} />
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
  const shown = panel.value;
  const inCluster = resource.status.k8sResourceInfo !== undefined && resource.status.k8sResourceInfo !== null;
  const tabs = [
    { name: "why", words: "Why and when", there: true },
    { name: "cluster", words: "In the cluster", there: inCluster },
  ] as const;
  return (
    <div class="panels">
      <div class="panel-choice">
        {tabs
          .filter(({ there }) => there)
          .map(({ name, words }) => (
            <button
              key={name}
              type="button"
              class="quiet"
              aria-expanded={shown === name}
              onClick={() => choosePanel(name)}
            >
              {words}
            </button>
          ))}
      </div>
      {shown === "why" ? (
        <section class="panel" aria-label="Why and when">
          <Hold resource={resource} />
          <UpdateHistory resource={resource} />
        </section>
      ) : null}
      {shown === "cluster" && inCluster ? (
        <section class="panel" aria-label="In the cluster">
          <ClusterPanel resource={resource} />
        </section>
      ) : null}
    </div>
  );
}

/** Why nothing happens now, or that it does. */
function Hold({ resource }: { resource: UIResource }) {
  const hold = resource.metadata.annotations?.[annotation.hold];
  const running = resource.status.currentBuild ? "It is being updated now." : "It waits for nothing.";
  return <p class={hold && !isDue(hold) ? "hold-words" : "muted"}>{hold ? `Waiting: ${hold}` : running}</p>;
}

/** What the pod says beyond "it runs". */
function podWords(pod: KubernetesInfo | null | undefined): string {
  const state = pod?.podStatus === "Running" ? "" : (pod?.podStatus ?? "");
  const restarts = pod?.podRestarts ? restartWords(pod.podRestarts) : "";
  return [state, restarts].filter(Boolean).join(" · ");
}

function Messages({ resource }: { resource: UIResource }) {
  // The cause has its own place above.
  const cause = resource.metadata.annotations?.[annotation.cause];
  const shown = messages(resource).filter((message) => message.text !== cause);
  if (shown.length === 0) return null;
  const word = { error: "Error", warning: "Warning", hold: "Waiting", due: "Waiting", note: "Note" };
  return (
    <ul class="messages">
      {shown.map((message, index) => (
        <li key={index} class={message.kind}>
          <strong>{word[message.kind]}</strong>
          <pre>{message.text}</pre>
        </li>
      ))}
    </ul>
  );
}
