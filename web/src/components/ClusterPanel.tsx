/**
 * A resource's state in its cluster: objects, pods and containers with their conditions, events, and port forwards.
 */

import { type Signal, useSignal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import { useEffect, useRef } from "preact/hooks";
import type { ReportedNotice, ReportedObject, UIResource } from "../generated/protocol";
import {
  conditionIcon,
  conditionDetail,
  describeContainer,
  fetchClusterDetails,
  fetchAppliedObjects,
  type ClusterDetails,
  type Forward,
  type ObjectCondition,
  type Pod,
} from "../model/clusterDetails";
import { formatAge, now, formatTimeOfDay } from "../model/time";
import { snapshotTime } from "../app/appState";
import { CopyButton } from "./CopyButton";
import { StatusIcon } from "./StatusIcon";

/** Events and conditions change without a change of the resource. In milliseconds. */
const REFRESH_INTERVAL = 3_000;
/** Between two requests to the session, however often a resource changes. In milliseconds. */
const MIN_INTERVAL = 500;
/** A request is repeated after this many times its own duration, so that a slow cluster gets fewer requests. */
const IDLE_FACTOR = 10;
const INITIAL_EVENTS = 8;

export function ClusterPanel({ resource }: { resource: UIResource }) {
  const details = useSignal<ClusterDetails | undefined>(undefined);
  const objects = useSignal<readonly ReportedObject[] | undefined>(undefined);
  const detailsError = useSignal("");
  const objectsError = useSignal("");
  const name = resource.metadata.name;
  // Not at every change of the resource: these requests go to the cluster.
  useEffect(() => {
    [details.value, objects.value, objectsError.value] = [undefined, undefined, ""];
    return poll(() => fetchAppliedObjects(name), objects, objectsError);
  }, [name]);
  // The session answers this itself: refetched soon after a change, but at most every `MIN_INTERVAL`.
  const lastFetchAt = useRef(-Infinity);
  useEffect(() => {
    const load = () => {
      lastFetchAt.current = performance.now();
      return fetchClusterDetails(name);
    };
    return poll(load, details, detailsError, lastFetchAt.current + MIN_INTERVAL - performance.now());
  }, [resource]);
  return (
    <div class="cluster-panel">
      <Objects names={resource.status.k8sResourceInfo?.displayNames ?? []} reported={objects.value} />
      {objectsError.value ? (
        <p class="muted">Conditions of objects are not known: {objectsError.value}</p>
      ) : null}
      {detailsError.value ? <p class="muted">Pods and events are not known: {detailsError.value}</p> : null}
      {details.value?.pods.map((pod) => (
        <PodDetails key={pod.name} pod={pod} />
      ))}
      {details.value && details.value.forwards.length > 0 ? (
        <Forwards forwards={details.value.forwards} />
      ) : null}
      {details.value ? <Events events={details.value.events} /> : null}
    </div>
  );
}

/**
 * Fetches a value after `initialDelay`, then again and again, one request at a time, until the returned function is
 * called.
 */
function poll<Value>(
  fetchValue: () => Promise<Value>,
  value: Signal<Value | undefined>,
  failure: Signal<string>,
  initialDelay = 0,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isActive = true;
  const refresh = async () => {
    const startedAt = performance.now();
    if (!document.hidden) {
      try {
        const fetched = await fetchValue();
        if (isActive) [value.value, failure.value] = [fetched, ""];
      } catch (error) {
        if (isActive) failure.value = errorMessage(error);
      }
    }
    // A snapshot does not change.
    if (snapshotTime.peek() !== undefined && !document.hidden) return;
    const delay = Math.max(REFRESH_INTERVAL, IDLE_FACTOR * (performance.now() - startedAt));
    if (isActive) timer = setTimeout(() => void refresh(), delay);
  };
  if (initialDelay > 0) timer = setTimeout(() => void refresh(), initialDelay);
  else void refresh();
  return () => {
    isActive = false;
    clearTimeout(timer);
  };
}

/** The applied objects: with the conditions that the cluster reports, or by name alone. */
function Objects({
  names,
  reported,
}: {
  names: readonly string[];
  reported: readonly ReportedObject[] | undefined;
}) {
  const objects =
    reported && reported.length > 0
      ? reported
      : names.map((name): ReportedObject => ({ name, conditions: [] }));
  if (objects.length === 0) return null;
  const hasReport = ({ conditions, remark }: ReportedObject) => conditions.length > 0 || Boolean(remark);
  const withoutReport = objects.filter((object) => !hasReport(object));
  return (
    <section aria-label="Objects">
      <h3>Objects</h3>
      <ul class="objects">
        {objects.filter(hasReport).map(({ name, conditions, remark }) => (
          <li key={name}>
            <span class="mono">{name}</span>
            {remark ? (
              <span class="object-remark">
                <StatusIcon shape="error" />
                {remark}
              </span>
            ) : null}
            {conditions.length > 0 ? <Conditions conditions={conditions} of={name} /> : null}
          </li>
        ))}
      </ul>
      {withoutReport.length > 0 ? (
        <ul class="chips">
          {withoutReport.map(({ name }) => (
            <li class="chip mono" key={name}>
              {name}
            </li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}

function Conditions({ conditions, of }: { conditions: readonly ObjectCondition[]; of: string }) {
  return (
    <ul class="conditions" aria-label={`Conditions of ${of}`}>
      {conditions.map((condition) => (
        <li key={condition.type} title={condition.message}>
          <StatusIcon shape={conditionIcon(condition)} />
          {condition.type}
          <span class="muted">{conditionDetail(condition)}</span>
        </li>
      ))}
    </ul>
  );
}

function PodDetails({ pod }: { pod: Pod }) {
  return (
    <section class="pod-details" aria-label={`Pod ${pod.name}`}>
      <h3>
        <span class="mono">{pod.name}</span>
        <CopyButton text={pod.name} description={`the pod's name ${pod.name}`} />
        <span class="muted">{pod.status || pod.phase}</span>
      </h3>
      {pod.errors?.map((error) => (
        <pre class="update-error" key={error}>
          {error}
        </pre>
      ))}
      {pod.conditions ? <Conditions conditions={pod.conditions} of={pod.name} /> : null}
      <ul class="containers" aria-label="Containers">
        {pod.containers?.map((container) => (
          <li key={container.name}>
            <span class="mono">{container.name}</span>{" "}
            <span class="muted">{describeContainer(container)}</span>
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
            <StatusIcon shape={forward.error ? "error" : forward.open ? "ok" : "waiting"} />
            {forward.host || "localhost"}:{forward.localPort} → {forward.containerPort}
            <span class="muted"> {forward.error || (forward.open ? "open" : "waits for a pod")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Kubernetes events, newest first. */
function Events({ events }: { events: readonly ReportedNotice[] }) {
  const showAll = useSignal(false);
  const shownEvents = showAll.value ? events : events.slice(0, INITIAL_EVENTS);
  return (
    <section aria-label="Events">
      <h3>Events</h3>
      {events.length === 0 ? <p class="muted">The cluster has reported nothing.</p> : null}
      <ol class="events">
        {shownEvents.map((event, index) => (
          <li key={`${events.length - index}`} class={event.warning ? "warning" : ""}>
            <StatusIcon shape={event.warning ? "error" : "ok"} />
            <span>
              <strong>{event.reason}</strong>
              {event.warning ? <span class="visually-hidden"> (warning)</span> : null}{" "}
              <span class="muted mono">{event.about}</span>{" "}
              <time class="muted" dateTime={event.at} title={formatTimeOfDay(event.at)}>
                {formatAge(event.at, now.value)}
              </time>
              <span class="event-message">{event.message}</span>
            </span>
          </li>
        ))}
      </ol>
      {events.length > INITIAL_EVENTS ? (
        <button type="button" class="quiet" onClick={() => (showAll.value = !showAll.value)}>
          {showAll.value ? "Fewer" : `All ${events.length} events`}
        </button>
      ) : null}
    </section>
  );
}
