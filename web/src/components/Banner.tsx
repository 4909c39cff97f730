import type { UnreachableService } from "../generated/protocol";
import { formatTimeOfDay } from "../model/time";
import { retryUnreachable } from "../app/actions";
import { accessRefusal, connection, session, snapshotTime } from "../app/appState";

/** Problems of the whole session: a lost connection, a fatal error, an unreachable cluster. */
export function Banner() {
  const lost = connection.state.value === "lost";
  const refused = accessRefusal.value;
  const fatal = session.session.value?.status.fatalError;
  return (
    <div aria-live="assertive">
      {lost && refused ? (
        <div class="banner lost" role="alert">
          <div>
            <p>
              <strong>lilt refuses this page.</strong> {refused.error}
            </p>
            {refused.command ? (
              <p>
                If that is the address of your proxy, tunnel or dev box, start lilt with{" "}
                <code>{refused.command}</code>
              </p>
            ) : null}
          </div>
          <button type="button" onClick={() => connection.retry()}>
            Try now
          </button>
        </div>
      ) : null}
      {lost && !refused ? (
        <div class="banner lost" role="alert">
          <span>
            <strong>No connection to lilt.</strong>{" "}
            {session.isLoaded.value
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
      {session.unreachable.value.map((service, index) => (
        // Titles are not unique: two clusters may each have an unreachable engine.
        <Unreachable key={`${index} ${service.title}`} service={service} />
      ))}
    </div>
  );
}

function Unreachable({ service: { title, message, server, hint, since } }: { service: UnreachableService }) {
  return (
    <div class="banner unreachable" role="alert">
      <div>
        <p>
          <strong>{title}</strong> since <time dateTime={since}>{formatTimeOfDay(since)}</time>. {message}
        </p>
        {server && !message.includes(server) ? <p class="muted">Server: {server}</p> : null}
        {hint ? <p class="muted">Hint: {hint}</p> : null}
      </div>
      {snapshotTime.value === undefined ? (
        <button type="button" onClick={retryUnreachable}>
          Retry now
        </button>
      ) : null}
    </div>
  );
}
