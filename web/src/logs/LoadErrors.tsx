/** Errors of requests for lines, shown above or below the lines, where the missing ones would be. */

import { readableFailure } from "./searchHighlight";
import type { LogWindow, WindowPart } from "./logWindow";

const missingText: Record<WindowPart, string> = {
  whole: "The lines that were asked for did not come",
  before: "Older lines did not come",
  after: "Newer lines did not come",
};

export function LoadErrors({ window, parts }: { window: LogWindow; parts: readonly WindowPart[] }) {
  const failures = window.failures.value;
  // Screen readers announce only changes of a live region that is already in the document.
  return (
    <div class="load-errors" role="status">
      {parts.map((part) => {
        const failure = failures[part];
        return failure ? (
          <p key={part} class="load-error">
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

/** Shown instead of lines when there are none. */
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

/** Failed requests are retried automatically; this retries at once. */
function RetryButton({ window }: { window: LogWindow }) {
  return (
    <button type="button" onClick={() => window.retry()}>
      Try again
    </button>
  );
}
