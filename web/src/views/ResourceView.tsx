import type { KubernetesInfo, UIResource } from "../generated/protocol";
import { annotation } from "../generated/protocol";
import { LogPane } from "../logs/LogPane";
import { isManual, kind, messages, runtimeStatus, updateStatus } from "../model/status";
import { session } from "../page";
import { Endpoints } from "../parts/Endpoints";
import { Link } from "../parts/Link";
import { ResourceList } from "../parts/ResourceList";
import { StatusCell } from "../parts/StatusCell";
import { TriggerButton } from "../parts/TriggerButton";
import { UpdateTime } from "../parts/UpdateTime";

export function ResourceView({ name }: { name: string }) {
  const resource = session.resource(name)?.value;
  return (
    <div class="split">
      <ResourceList />
      <main id="main" class="detail-view">
        {resource ? <Head resource={resource} /> : <Missing name={name} />}
        {resource ? <LogPane resource={name} /> : null}
      </main>
    </div>
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
        <h1>{metadata.name}</h1>
        <span class="chips">
          {kind(resource) ? <span class="chip">{kind(resource)}</span> : null}
          {isManual(resource) ? <span class="chip">manual</span> : null}
          {Object.keys(metadata.labels ?? {}).map((label) => (
            <span class="chip" key={label}>
              {label}
            </span>
          ))}
        </span>
        <TriggerButton resource={resource} wide />
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
            <dd class="mono">{pod.podName}</dd>
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
    </section>
  );
}

/** What the pod says beyond "it runs". */
function podWords(pod: KubernetesInfo | null | undefined): string {
  const state = pod?.podStatus === "Running" ? "" : (pod?.podStatus ?? "");
  const restarts = pod?.podRestarts ? `${pod.podRestarts} restarts` : "";
  return [state, restarts].filter(Boolean).join(" · ");
}

function Messages({ resource }: { resource: UIResource }) {
  // The cause has its own place above.
  const cause = resource.metadata.annotations?.[annotation.cause];
  const shown = messages(resource).filter((message) => message.text !== cause);
  if (shown.length === 0) return null;
  const word = { error: "Error", warning: "Warning", hold: "Waiting", note: "Note" };
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
