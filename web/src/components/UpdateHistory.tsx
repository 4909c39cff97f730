/** What the last updates did, each with its stages drawn to scale. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Outcome, UIResource, UpdateRecord } from "../generated/protocol";
import { ago, duration, now, timeOfDay } from "../model/time";
import { barsOf, extentOf, fetchTimeline } from "../model/timeline";
import { Mark } from "./StatusIcon";

const SHOWN_AT_FIRST = 5;

const outcome = {
  running: { shape: "busy", word: "Running" },
  ok: { shape: "ok", word: "Done" },
  failed: { shape: "error", word: "Failed" },
  cancelled: { shape: "absent", word: "Cancelled" },
  superseded: { shape: "absent", word: "Superseded by newer changes" },
} as const satisfies Record<Outcome, unknown>;

export function UpdateHistory({ resource }: { resource: UIResource }) {
  const updates = useSignal<readonly UpdateRecord[] | undefined>(undefined);
  const failure = useSignal("");
  const all = useSignal(false);
  const name = resource.metadata.name;
  // Its records change when it does.
  useEffect(() => {
    let wanted = true;
    fetchTimeline(name).then(
      (found) => {
        if (wanted) [updates.value, failure.value] = [found, ""];
      },
      (error: unknown) => {
        if (wanted) failure.value = error instanceof Error ? error.message : String(error);
      },
    );
    return () => {
      wanted = false;
    };
  }, [resource]);
  if (failure.value) return <p class="muted">No history: {failure.value}</p>;
  const found = updates.value;
  if (!found) return <p class="muted">Looking…</p>;
  if (found.length === 0) return <p class="muted">It has not been updated yet.</p>;
  const shown = all.value ? found : found.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <ol class="updates" aria-label="Updates, newest first">
        {shown.map((update) => (
          <Update key={update.update} update={update} />
        ))}
      </ol>
      {found.length > SHOWN_AT_FIRST ? (
        <button type="button" class="quiet" onClick={() => (all.value = !all.value)}>
          {all.value ? "Fewer" : `All ${found.length} updates`}
        </button>
      ) : null}
    </>
  );
}

function Update({ update }: { update: UpdateRecord }) {
  const running = update.outcome === "running" || update.stages.some((stage) => !stage.end);
  // What has ended need not be drawn anew every second.
  const at = running ? now.value : now.peek();
  const { begin, end } = extentOf(update, at);
  const { shape, word } = outcome[update.outcome];
  return (
    <li class="update">
      <p class="update-head">
        <Mark shape={shape} />
        <span class="update-cause">{update.cause || "Update"}</span>
        <span class="muted">
          {word} ·{" "}
          <time dateTime={update.begin}>{`${timeOfDay(update.begin)}, ${ago(update.begin, now.value)}`}</time>{" "}
          · {duration(end - begin)}
        </span>
      </p>
      {update.error ? <pre class="update-error">{update.error}</pre> : null}
      <ol class="stages" aria-label="Stages">
        {barsOf(update, at).map((bar, index) => (
          <li key={index}>
            <span class="stage-name" title={bar.words}>
              {bar.words}
            </span>
            <span class="track" aria-hidden="true">
              <span
                class={`bar ${bar.stage.stage}${bar.running ? " running" : ""}`}
                style={{ left: `min(${bar.left * 100}%, 100% - 3px)`, width: `${bar.width * 100}%` }}
              />
            </span>
            <span class="stage-time">{duration(bar.milliseconds)}</span>
          </li>
        ))}
      </ol>
    </li>
  );
}
