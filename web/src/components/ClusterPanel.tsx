/** A resource in its cluster: objects and pods with their conditions, containers, events, and forwards with their state. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ReportedNotice, ReportedObject, UIResource } from "../generated/protocol";
import {
  conditionShape,
  conditionWords,
  containerWords,
  fetchClusterFacts,
  fetchObjects,
  type ClusterFacts,
  type Forward,
  type ObjectCondition,
  type Pod,
} from "../model/clusterDetails";
import { ago, now, timeOfDay } from "../model/time";
import { snapshot } from "../app/page";
import { CopyButton } from "./CopyButton";
import { Mark } from "./StatusIcon";

/** Events and conditions come without a change of the resource. */
const LOOK_AGAIN = 3_000;
/** Between two questions to the session, however often a resource changes. */
const PACE = 500;
/** Of a cluster that answers slowly less is asked: it rests this many times as long as it worked. */
const RESTS = 10;
const SHOWN_AT_FIRST = 8;

export function ClusterPanel({ resource }: { resource: UIResource }) {
  const facts = useSignal<ClusterFacts | undefined>(undefined);
  const objects = useSignal<readonly ReportedObject[] | undefined>(undefined);
  const failure = useSignal("");
  const unread = useSignal("");
  const name = resource.metadata.name;
  // Not at each change, of which there may be many: the cluster is asked, and the pause between questions holds.
  useEffect(() => {
    [facts.value, objects.value, unread.value] = [undefined, undefined, ""];
    return keepLooking(() => fetchObjects(name), objects, unread);
  }, [name]);
  // The session knows these itself: after a change they are asked for soon, but not for each of many.
  const asked = useRef(-Infinity);
  useEffect(() => {
    const look = () => {
      asked.current = performance.now();
      return fetchClusterFacts(name);
    };
    return keepLooking(look, facts, failure, asked.current + PACE - performance.now());
  }, [resource]);
  return (
    <div class="cluster">
      <Objects known={resource.status.k8sResourceInfo?.displayNames ?? []} found={objects.value} />
      {unread.value ? <p class="muted">Conditions of objects are not known: {unread.value}</p> : null}
      {failure.value ? <p class="muted">Pods and events are not known: {failure.value}</p> : null}
      {facts.value?.pods.map((pod) => (
        <PodFacts key={pod.name} pod={pod} />
      ))}
      {facts.value && facts.value.forwards.length > 0 ? <Forwards forwards={facts.value.forwards} /> : null}
      {facts.value ? <Events notices={facts.value.notices} /> : null}
    </div>
  );
}

/** Asks now, or after a pause, and again, one question after the other, until it is stopped. */
function keepLooking<Found>(
  ask: () => Promise<Found>,
  found: Signal<Found | undefined>,
  failure: Signal<string>,
  pause = 0,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wanted = true;
  const look = async () => {
    const began = performance.now();
    if (!document.hidden) {
      try {
        const answer = await ask();
        if (wanted) [found.value, failure.value] = [answer, ""];
      } catch (error) {
        if (wanted) failure.value = error instanceof Error ? error.message : String(error);
      }
    }
    // Nothing of a snapshot changes.
    if (snapshot.peek() !== undefined && !document.hidden) return;
    const rest = Math.max(LOOK_AGAIN, RESTS * (performance.now() - began));
    if (wanted) timer = setTimeout(() => void look(), rest);
  };
  if (pause > 0) timer = setTimeout(() => void look(), pause);
  else void look();
  return () => {
    wanted = false;
    clearTimeout(timer);
  };
}

/** What was applied: with what the cluster says of it, and by name alone where it says nothing. */
function Objects({
  known,
  found,
}: {
  known: readonly string[];
  found: readonly ReportedObject[] | undefined;
}) {
  const all =
    found && found.length > 0 ? found : known.map((name): ReportedObject => ({ name, conditions: [] }));
  if (all.length === 0) return null;
  const tells = ({ conditions, remark }: ReportedObject) => conditions.length > 0 || Boolean(remark);
  const silent = all.filter((object) => !tells(object));
  return (
    <section aria-label="Objects">
      <h3>Objects</h3>
      <ul class="objects">
        {all.filter(tells).map(({ name, conditions, remark }) => (
          <li key={name}>
            <span class="mono">{name}</span>
            {remark ? (
              <span class="object-remark">
                <Mark shape="error" />
                {remark}
              </span>
            ) : null}
            {conditions.length > 0 ? <Conditions conditions={conditions} of={name} /> : null}
          </li>
        ))}
      </ul>
      {silent.length > 0 ? (
        <ul class="chips">
          {silent.map(({ name }) => (
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
          <Mark shape={conditionShape(condition)} />
          {condition.type}
          <span class="muted">{conditionWords(condition)}</span>
        </li>
      ))}
    </ul>
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
      {pod.conditions ? <Conditions conditions={pod.conditions} of={pod.name} /> : null}
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
