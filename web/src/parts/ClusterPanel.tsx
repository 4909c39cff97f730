/** The objects of a resource in its cluster: pods with their conditions and containers, and forwards with their state. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import {
  containerWords,
  fetchClusterFacts,
  type ClusterFacts,
  type Forward,
  type Pod,
} from "../model/cluster";
import { CopyButton } from "./CopyButton";
import { Mark } from "./Mark";

export function ClusterPanel({ resource }: { resource: UIResource }) {
  const facts = useSignal<ClusterFacts | undefined>(undefined);
  const failure = useSignal("");
  const name = resource.metadata.name;
  useEffect(() => {
    let wanted = true;
    fetchClusterFacts(name).then(
      (found) => {
        if (wanted) [facts.value, failure.value] = [found, ""];
      },
      (error: unknown) => {
        if (wanted) failure.value = error instanceof Error ? error.message : String(error);
      },
    );
    return () => {
      wanted = false;
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
      {failure.value ? <p class="muted">Pods are not known: {failure.value}</p> : null}
      {facts.value?.pods.map((pod) => (
        <PodFacts key={pod.name} pod={pod} />
      ))}
      {facts.value && facts.value.forwards.length > 0 ? <Forwards forwards={facts.value.forwards} /> : null}
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
