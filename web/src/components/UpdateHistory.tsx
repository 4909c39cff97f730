/** The last updates of a resource, each with its stages drawn to scale. */

import { useSignal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import { useEffect } from "preact/hooks";
import type { Outcome, UIResource, UpdateRecord } from "../generated/protocol";
import { formatAge, formatDuration, now, formatTimeOfDay } from "../model/time";
import { stageBars, timeRange, fetchTimeline } from "../model/timeline";
import { StatusIcon } from "./StatusIcon";

const INITIAL_UPDATES = 5;

const outcomeDisplay = {
  running: { shape: "busy", word: "Running" },
  ok: { shape: "ok", word: "Done" },
  failed: { shape: "error", word: "Failed" },
  cancelled: { shape: "absent", word: "Cancelled" },
  superseded: { shape: "absent", word: "Superseded by newer changes" },
} as const satisfies Record<Outcome, unknown>;

export function UpdateHistory({ resource }: { resource: UIResource }) {
  const updates = useSignal<readonly UpdateRecord[] | undefined>(undefined);
  const errorText = useSignal("");
  const showAll = useSignal(false);
  const name = resource.metadata.name;
  // The history changes with the resource.
  useEffect(() => {
    let isActive = true;
    fetchTimeline(name).then(
      (found) => {
        if (isActive) [updates.value, errorText.value] = [found, ""];
      },
      (error: unknown) => {
        if (isActive) errorText.value = errorMessage(error);
      },
    );
    return () => {
      isActive = false;
    };
  }, [resource]);
  if (errorText.value) return <p class="muted">No history: {errorText.value}</p>;
  const allUpdates = updates.value;
  if (!allUpdates) return <p class="muted">Looking…</p>;
  if (allUpdates.length === 0) return <p class="muted">It has not been updated yet.</p>;
  const shownUpdates = showAll.value ? allUpdates : allUpdates.slice(0, INITIAL_UPDATES);
  return (
    <>
      <ol class="updates" aria-label="Updates, newest first">
        {shownUpdates.map((update) => (
          <Update key={update.update} update={update} />
        ))}
      </ol>
      {allUpdates.length > INITIAL_UPDATES ? (
        <button type="button" class="quiet" onClick={() => (showAll.value = !showAll.value)}>
          {showAll.value ? "Fewer" : `All ${allUpdates.length} updates`}
        </button>
      ) : null}
    </>
  );
}

function Update({ update }: { update: UpdateRecord }) {
  const running = update.outcome === "running" || update.stages.some((stage) => !stage.end);
  // A finished update need not rerender every second.
  const currentTime = running ? now.value : now.peek();
  const { begin, end } = timeRange(update, currentTime);
  const { shape, word } = outcomeDisplay[update.outcome];
  return (
    <li class="update">
      <p class="update-head">
        <StatusIcon shape={shape} />
        <span class="update-cause">{update.cause || "Update"}</span>
        <span class="muted">
          {word} ·{" "}
          <time
            dateTime={update.begin}
          >{`${formatTimeOfDay(update.begin)}, ${formatAge(update.begin, now.value)}`}</time>{" "}
          · {formatDuration(end - begin)}
        </span>
      </p>
      {update.error ? <pre class="update-error">{update.error}</pre> : null}
      <ol class="stages" aria-label="Stages">
        {stageBars(update, currentTime).map((bar, index) => (
          <li key={index}>
            <span class="stage-name" title={bar.label}>
              {bar.label}
            </span>
            <span class="track" aria-hidden="true">
              <span
                class={`bar ${bar.stage.stage}${bar.running ? " running" : ""}`}
                style={{ left: `min(${bar.left * 100}%, 100% - 3px)`, width: `${bar.width * 100}%` }}
              />
            </span>
            <span class="stage-time">{formatDuration(bar.milliseconds)}</span>
          </li>
        ))}
      </ol>
    </li>
  );
}
