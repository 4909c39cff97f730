import { session, connection } from "../page";

/** What concerns the whole session: a lost connection, a fatal error. */
export function Banner() {
  const lost = connection.state.value === "lost";
  const fatal = session.session.value?.status.fatalError;
  return (
    <div aria-live="assertive">
      {lost ? (
        <div class="banner lost" role="alert">
          <span>
            <strong>No connection to lilt.</strong>{" "}
            {session.known.value
              ? "What you see is the last known state. The page comes back by itself."
              : "Is it running? The page comes up by itself."}
          </span>
          <button type="button" onClick={() => connection.retry()}>
            Try now
          </button>
        </div>
      ) : null}
      {fatal ? (
        <div class="banner fatal" role="alert">
          <strong>The session has failed.</strong> <span>{fatal}</span>
        </div>
      ) : null}
    </div>
  );
}
