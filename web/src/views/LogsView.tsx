import { LogPane } from "../logs/LogPane";
import { starredGroup } from "../model/session";
import { stars } from "../model/stars";
import { session } from "../app/appState";
import { RouteLink } from "../components/RouteLink";

export function LogsView() {
  return (
    <main id="main" class="detail-view">
      <h1 class="visually-hidden">All logs</h1>
      <LogPane resource={undefined} />
    </main>
  );
}

export function StarredView() {
  const { names } = starredGroup(stars.value, new Set(session.names.value));
  return (
    <main id="main" class="detail-view">
      {names.length > 0 ? (
        <>
          <h1 class="visually-hidden">Logs of starred resources</h1>
          <LogPane key={names.join("\n")} resource={undefined} starred={names} />
        </>
      ) : (
        <NoStarredResources />
      )}
    </main>
  );
}

function NoStarredResources() {
  return (
    <div class="empty">
      <h1>Logs of starred resources</h1>
      <p>
        {session.isLoaded.value
          ? "No resource has a star. Click on one beside a name, and its log is shown here with the others."
          : "Waiting for the session…"}
      </p>
      <RouteLink to={{ view: "overview" }}>All resources</RouteLink>
    </div>
  );
}
