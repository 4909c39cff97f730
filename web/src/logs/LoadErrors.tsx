/** What could not be fetched, said at the edge where it is missing. */

import { failureWords } from "./searchHighlight";
import type { LogWindow, Part } from "./logWindow";

const missing: Record<Part, string> = {
  whole: "The lines that were asked for did not come",
  before: "Older lines did not come",
  after: "Newer lines did not come",
};

export function Edge({ window, parts }: { window: LogWindow; parts: readonly Part[] }) {
  const failures = window.failures.value;
  // The place of what is told is there before it is told: else those who listen would not hear of it.
  return (
    <div class="edge" role="status">
      {parts.map((part) => {
        const failure = failures[part];
        return failure ? (
          <p key={part} class="edge-note">
            <span>
              {missing[part]}: {failureWords(failure.words)}.
            </span>
            <TryAgain window={window} />
          </p>
        ) : null;
      })}
    </div>
  );
}

/** In place of the lines, when there are none. */
export function Nothing({ window, empty }: { window: LogWindow; empty: string }) {
  const failure = window.failures.value.whole;
  if (!failure) return <p class="empty">{window.loading.value || !window.atBegin ? "Looking…" : empty}</p>;
  return (
    <div class="empty failed">
      <p>{failureWords(failure.words)}</p>
      {failure.passing ? <TryAgain window={window} /> : null}
    </div>
  );
}

/** It is tried again by itself, too, but somebody who waits may know better when. */
function TryAgain({ window }: { window: LogWindow }) {
  return (
    <button type="button" onClick={() => window.retry()}>
      Try again
    </button>
  );
}
