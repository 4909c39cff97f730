import { isHelpOpen, isPaletteOpen } from "../app/openDialogs";
import { navigate, route } from "../model/route";
import { TILTFILE } from "../model/session";
import { overallStatuses, overallLabels, type OverallStatus } from "../model/status";
import { notificationsEnabled } from "../model/notifications";
import { formatDateTime } from "../model/time";
import { statusFilter } from "../model/listSettings";
import { switchNotifications } from "../app/actions";
import { buttons, connection, liltVersion, session, snapshotTime } from "../app/appState";
import { CustomButtons } from "./CustomButton";
import { RouteLink } from "./RouteLink";
import { StatusIcon } from "./StatusIcon";
import { SessionMenu } from "./SessionMenu";

export function Header() {
  return (
    <header class="page-header">
      <RouteLink to={{ view: "overview" }} class="brand" aria-label="lilt, overview">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <rect width="16" height="16" rx="4" fill="currentColor" />
          <path d="M5.2 3.5v9M8.4 7.2v5.3M11.4 5v7.5" class="bars" />
        </svg>
        <span>lilt</span>
      </RouteLink>
      <SessionMenu />
      <nav aria-label="Views">
        <RouteLink
          to={{ view: "overview" }}
          aria-current={route.value.view === "overview" ? "page" : undefined}
        >
          Overview
        </RouteLink>
        <RouteLink to={{ view: "logs" }} aria-current={route.value.view === "logs" ? "page" : undefined}>
          All logs
        </RouteLink>
      </nav>
      <StatusCounts />
      <div class="header-tools">
        <CustomButtons buttons={buttons.inNavigationBar} />
        <ConnectionStatus />
        {liltVersion.value ? <span class="version">{liltVersion.value}</span> : null}
        <button
          type="button"
          class="quiet"
          aria-pressed={notificationsEnabled.value}
          aria-label="Notify me of failures"
          title={
            notificationsEnabled.value
              ? "Notifications are on"
              : "Notify me when something fails or works again"
          }
          onClick={() => void switchNotifications()}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true" class="header-icon">
            <path d="M3.5 11.5h9l-1.2-1.8V7a3.3 3.3 0 0 0-6.6 0v2.7zM6.7 13.6h2.6" class="stroke thin" />
            {notificationsEnabled.value ? <circle cx="12" cy="4" r="2.5" class="on" /> : null}
          </svg>
        </button>
        <button
          type="button"
          class="quiet"
          title="Commands (Ctrl K)"
          onClick={() => (isPaletteOpen.value = true)}
        >
          <kbd aria-hidden="true">Ctrl K</kbd>
          <svg viewBox="0 0 16 16" aria-hidden="true" class="header-icon palette-icon">
            <path d="M7 11.2a4.2 4.2 0 1 0-.01 0M10.2 10.2l3.6 3.6" class="stroke thin" />
          </svg>
          <span class="visually-hidden">Commands</span>
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => (isHelpOpen.value = true)}
          aria-label="Keys and help"
        >
          ?
        </button>
      </div>
    </header>
  );
}

function StatusCounts() {
  const counts = session.counts.value;
  const toggle = (state: OverallStatus) => {
    const shown = route.peek().view === "overview" && statusFilter.peek() === state;
    statusFilter.value = shown ? undefined : state;
    navigate({ view: "overview" });
  };
  // Every count has a fixed place with room for all resources, so that nothing moves when it changes.
  const countWidth = { minWidth: `${String(session.names.value.length).length}ch` };
  return (
    <div class="counts" role="group" aria-label="Show only resources that are">
      {overallStatuses.map((state) => (
        <button
          type="button"
          key={state}
          class={`count ${state}`}
          disabled={counts[state] === 0 && statusFilter.value !== state}
          aria-pressed={statusFilter.value === state}
          title={`Show only: ${overallLabels[state]}`}
          onClick={() => toggle(state)}
        >
          <StatusIcon shape={state} />
          <span class="number" style={countWidth}>
            {counts[state]}
          </span>
          <span class="state">{overallLabels[state]}</span>
        </button>
      ))}
    </div>
  );
}

function ConnectionStatus() {
  const takenAt = snapshotTime.value;
  if (takenAt !== undefined && connection.state.value === "open") {
    return (
      <span
        class="connection-status"
        role="status"
        data-connection="open"
        title="Nothing changes here any more"
      >
        Snapshot of <time dateTime={takenAt}>{formatDateTime(takenAt)}</time>
      </span>
    );
  }
  const labels = { connecting: "Connecting", open: "Live", lost: "Disconnected" };
  const state = connection.state.value;
  const problem = state === "open" ? sessionProblem() : undefined;
  return (
    <span
      class={`connection-status ${problem ? "lost" : state}`}
      role="status"
      data-connection={state}
      title={problem ?? labels[state]}
    >
      <span class="dot" aria-hidden="true" />
      <span class="connection-label">
        {problem === TILTFILE_ERROR ? (
          <RouteLink to={{ view: "resource", name: TILTFILE }}>{problem}</RouteLink>
        ) : (
          (problem ?? labels[state])
        )}
      </span>
    </span>
  );
}

const TILTFILE_ERROR = "Tiltfile error";

/** Returns why the shown state may not be the current state of the project although lilt is connected. */
function sessionProblem(): string | undefined {
  if (session.unreachable.value.length > 0) return "Unreachable";
  return session.tiltfileError.value === undefined ? undefined : TILTFILE_ERROR;
}
