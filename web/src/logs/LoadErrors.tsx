/** What could not be fetched, said at the edge where it is missing. */

import { readableFailure } from "./searchHighlight";
import type { LogWindow, WindowPart } from "./logWindow";

const missingText: Record<WindowPart, string> = {
  whole: "The lines that were asked for did not come",
  before: "Older lines did not come",
  after: "Newer lines did not come",
};

export function LoadErrors({ window, parts }: { window: LogWindow; parts: readonly WindowPart[] }) {
  const failures = window.failures.value;
  // The place of what is told is there before it is told: else those who listen would not hear of it.
  return (
    <div class="edge" role="status">
      {parts.map((part) => {
        const failure = failures[part];
        return failure ? (
          <p key={part} class="edge-note">
            <span>
              {missingText[part]}: {readableFailure(failure.message)}.
            </span>
            <RetryButton window={window} />
          </p>
        ) : null;
      })}
    </div>
  );
}

/** In place of the lines, when there are none. */
export function EmptyLog({ window, text }: { window: LogWindow; text: string }) {
  const failure = window.failures.value.whole;
  if (!failure) return <p class="empty">{window.loading.value || !window.isAtStart ? "Looking…" : text}</p>;
  return (
    <div class="empty failed">
      <p>{readableFailure(failure.message)}</p>
      {failure.isTransient ? <RetryButton window={window} /> : null}
    </div>
  );
}

/** It is tried again by itself, too, but somebody who waits may know better when. */
function RetryButton({ window }: { window: LogWindow }) {
  return (
    <button type="button" onClick={() => window.retry()}>
      Try again
    </button>
  );
}
