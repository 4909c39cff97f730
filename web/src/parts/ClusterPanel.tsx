/** A resource in its cluster: pods with their conditions and containers, events, and forwards with their state. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ReportedNotice, UIResource } from "../generated/protocol";
import {
  containerWords,
  fetchClusterFacts,
  type ClusterFacts,
  type Forward,
  type Pod,
} from "../model/cluster";
import { ago, now, timeOfDay } from "../model/time";
import { snapshot } from "../page";
import { CopyButton } from "./CopyButton";
import { Mark } from "./Mark";

/** Events come without a change of the resource. */
const LOOK_AGAIN = 3_000;
const SHOWN_AT_FIRST = 8;

export function ClusterPanel({ resource }: { resource: UIResource }) {
  const facts = useSignal<ClusterFacts | undefined>(undefined);
  const failure = useSignal("");
  const name = resource.metadata.name;
  useEffect(() => {
    if (snapshot.value !== undefined) {
      failure.value = "a snapshot does not have them";
      return;
    }
    let wanted = true;
    const look = () =>
      fetchClusterFacts(name).then(
        (found) => {
          if (wanted) [facts.value, failure.value] = [found, ""];
        },
        (error: unknown) => {
          if (wanted) failure.value = error instanceof Error ? error.message : String(error);
        },
      );
    void look();
    const timer = setInterval(() => {
      if (!document.hidden) void look();
    }, LOOK_AGAIN);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  }, [resource]);
  const objects = resource.status.k8sResourceInfo?.displayNames ?? [];
  return (
    <div class="cluster">
      {objects.length > 0 ? (
        <>
          <h3>Objects</h3>
          <ul class="chips">
            {objects.map((object) => (
              <li class="chip mono" key={object}>
                {object}
              </li>
            ))}
          </ul>
        </>
      ) : null}
      {failure.value ? <p class="muted">Pods and events are not known: {failure.value}</p> : null}
      {facts.value?.pods.map((pod) => (
        <PodFacts key={pod.name} pod={pod} />
      ))}
      {facts.value && facts.value.forwards.length > 0 ? <Forwards forwards={facts.value.forwards} /> : null}
      {facts.value ? <Events notices={facts.value.notices} /> : null}
    </div>
  );
}

function PodFacts({ pod }: { pod: Pod }) {
  return (
    <section class="pod-facts" aria-label={`Pod ${pod.name}`}>
      <h3>
        <span class="mono">{pod.name}</span>
        <CopyButton text={pod.name} what={`the pod's name ${pod.name}`} />
        <span class="muted">{pod.status || pod.phase}</span>
      </h3>
      {pod.errors?.map((error) => (
        <pre class="update-error" key={error}>
          {error}
        </pre>
      ))}
      <ul class="conditions" aria-label="Conditions">
        {pod.conditions?.map(({ type, status, reason, message }) => (
          <li key={type} title={message}>
            <Mark shape={status === "True" ? "ok" : "waiting"} />
            {type}
            {status === "True" ? null : (
              <span class="muted">
                {" "}
                {reason || status}
                {message ? `: ${message}` : ""}
              </span>
            )}
          </li>
        ))}
      </ul>
      <ul class="containers" aria-label="Containers">
        {pod.containers?.map((container) => (
          <li key={container.name}>
            <span class="mono">{container.name}</span> <span class="muted">{containerWords(container)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Forwards({ forwards }: { forwards: readonly Forward[] }) {
  return (
    <section aria-label="Port forwards">
      <h3>Port forwards</h3>
      <ul class="conditions">
        {forwards.map((forward) => (
          <li key={forward.localPort}>
            <Mark shape={forward.error ? "error" : forward.open ? "ok" : "waiting"} />
            {forward.host || "localhost"}:{forward.localPort} → {forward.containerPort}
            <span class="muted"> {forward.error || (forward.open ? "open" : "waits for a pod")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the cluster reported, newest first. */
function Events({ notices }: { notices: readonly ReportedNotice[] }) {
  const all = useSignal(false);
  const shown = all.value ? notices : notices.slice(0, SHOWN_AT_FIRST);
  return (
    <section aria-label="Events">
      <h3>Events</h3>
      {notices.length === 0 ? <p class="muted">The cluster has reported nothing.</p> : null}
      <ol class="events">
        {shown.map((notice, index) => (
          <li key={`${notices.length - index}`} class={notice.warning ? "warning" : ""}>
            <Mark shape={notice.warning ? "error" : "ok"} />
            <span>
              <strong>{notice.reason}</strong>
              {notice.warning ? <span class="hidden"> (warning)</span> : null}{" "}
              <span class="muted mono">{notice.about}</span>{" "}
              <time class="muted" dateTime={notice.at} title={timeOfDay(notice.at)}>
                {ago(notice.at, now.value)}
              </time>
              <span class="event-words">{notice.message}</span>
            </span>
          </li>
        ))}
      </ol>
      {notices.length > SHOWN_AT_FIRST ? (
        <button type="button" class="quiet" onClick={() => (all.value = !all.value)}>
          {all.value ? "Fewer" : `All ${notices.length} events`}
        </button>
      ) : null}
    </section>
  );
}
