/** One button with several forms: start, start with the changes that wait, and stop what is running. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import { triggerForm } from "../model/triggerButton";
import { cancel, connection, refusals, snapshot, trigger } from "../app/page";

/** What changes nothing has no answer. In milliseconds. */
const LONGEST_WAIT = 5_000;

const drawing = {
  update: "M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3",
  stop: "M4.5 4.5h7v7h-7z",
  star: "M8 1.2l2.1 4.4 4.8.7-3.5 3.4.9 4.8L8 12.2l-4.3 2.3.9-4.8L1.1 6.3l4.8-.7z",
};

export function TriggerButton({ resource, wide }: { resource: UIResource; wide?: boolean }) {
  // Until the session answers with a change or a refusal, so that a click is seen to have arrived.
  const asked = useSignal(false);
  const name = resource.metadata.name;
  const refused = refusals.value;
  const open = connection.state.value === "open";
  // With the drawing itself: a later effect could undo a click that came between the two.
  useLayoutEffect(() => {
    asked.value = false;
  }, [resource, refused, open]);
  useEffect(() => {
    if (!asked.value) return;
    const timer = setTimeout(() => (asked.value = false), LONGEST_WAIT);
    return () => clearTimeout(timer);
  }, [asked.value]);
  const { words, hint, due, changed, stops, label } = triggerForm(resource);
  const ask = () => {
    asked.value = open;
    if (stops) cancel(name);
    else trigger(name);
  };
  return (
    <button
      type="button"
      class={`trigger${wide ? " wide" : ""}${due ? " due" : ""}${stops ? " stops" : ""}${asked.value ? " asked" : ""}`}
      // With the words that one sees, if one does.
      aria-label={wide ? `${words}: ${name}` : label}
      title={hint ? `${label}: ${hint}` : label}
      disabled={snapshot.value !== undefined}
      onClick={ask}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={stops ? drawing.stop : drawing.update} class="stroke" />
      </svg>
      {wide ? <span>{words}</span> : null}
      {changed ? (
        <svg viewBox="0 0 16 16" aria-hidden="true" class="changed">
          <path d={drawing.star} />
        </svg>
      ) : null}
    </button>
  );
}
