import { useComputed } from "@preact/signals";
import { stars, toggleStar } from "../model/stars";

export function StarButton({ name }: { name: string }) {
  // Computed, so that one change does not rerender the stars of a thousand rows.
  const starred = useComputed(() => stars.value.includes(name)).value;
  return (
    <button
      type="button"
      class="star"
      aria-pressed={starred}
      aria-label={`Star ${name}`}
      title={starred ? "Starred: shown first" : "Star: show it first"}
      onClick={() => toggleStar(name)}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 1.8l1.9 4 4.3.6-3.1 3 .8 4.3L8 11.6l-3.9 2.1.8-4.3-3.1-3 4.3-.6z" class="stroke thin" />
      </svg>
    </button>
  );
}
