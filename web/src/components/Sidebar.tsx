/** The list of resources beside a log. It stays mounted while the user goes from resource to resource. */

import { signal, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import {
  collapsedGroups,
  failingFirst,
  matchesName,
  nameFilter,
  setFailingFirst,
  showDisabled,
  toggleGroup,
} from "../model/listSettings";
import { route } from "../model/route";
import { starredGroup, type Group } from "../model/session";
import { stars } from "../model/stars";
import { isDisabled, overallStatus, runtimeStatus, updateStatus } from "../model/status";
import { session } from "../app/appState";
import { Chevron } from "./Chevron";
import { RouteLink } from "./RouteLink";
import { StatusIcon } from "./StatusIcon";
import { rowsPerScreen, useNearViewport, useViewportTracking } from "./useNearViewport";
import { MemoByName } from "./MemoByName";
import { countRows, limitRows, useProgressiveRows } from "./useProgressiveRows";
import { GroupProblems } from "./GroupProblems";

/** How many rows were rendered last; initially as many as fit on the screen. */
const previousRows = { rows: rowsPerScreen() };

/** On small screens the sidebar lies over the log while it is open. */
const isOpen = signal(false);

export function Sidebar() {
  const allGroups = useSidebarGroups();
  const groups = limitRows(allGroups, useProgressiveRows(previousRows, countRows(allGroups)));
  const scroller = useRef<HTMLDivElement>(null);
  useViewportTracking(scroller);
  // Close it once a view was chosen.
  useEffect(() => {
    isOpen.value = false;
  }, [route.value]);
  return (
    <>
      <button
        type="button"
        class="sidebar-toggle quiet"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Chevron /> Resources
      </button>
      <nav class={`sidebar${isOpen.value ? " shown" : ""}`} aria-label="Resources">
        <div class="sidebar-header">
          <input
            type="search"
            placeholder="Filter resources"
            aria-label="Filter resources by name"
            value={nameFilter.value}
            onInput={(event) => (nameFilter.value = event.currentTarget.value)}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={failingFirst.value}
              onChange={(event) => setFailingFirst(event.currentTarget.checked)}
            />
            Failing first
          </label>
        </div>
        <div class="sidebar-scroll" ref={scroller}>
          <CombinedLogLinks />
          {groups.map((group) => (
            <GroupSection key={group.key} group={group} />
          ))}
          {groups.length === 0 && session.isLoaded.value ? <p class="muted">Nothing matches.</p> : null}
        </div>
      </nav>
    </>
  );
}

/** Returns the groups as in the overview: starred ones first, without filtered and disabled resources. */
function useSidebarGroups(): Group[] {
  // Joined to a string, because most changes of resources leave it equal and then rerender nothing.
  const disabledNames = useComputed(() => {
    if (showDisabled.value) return "";
    return session.names.value
      .filter((name) => {
        const resource = session.resource(name)?.value;
        return resource && isDisabled(resource) && !isCurrent(name);
      })
      .join("\n");
  });
  const failingNames = useComputed(() =>
    failingFirst.value ? session.names.value.filter(isFailing).join("\n") : "",
  );
  const hiddenNames = new Set(disabledNames.value.split("\n"));
  const failing = new Set(failingNames.value.split("\n"));
  const existing = new Set(session.names.value);
  return [starredGroup(stars.value, existing), ...session.groups.value]
    .map((group) => ({
      ...group,
      names: group.names
        .filter((name) => matchesName(name) && !hiddenNames.has(name))
        .sort((a, b) => Number(failing.has(b)) - Number(failing.has(a))),
    }))
    .filter((group) => group.names.length > 0);
}

function isFailing(name: string): boolean {
  const resource = session.resource(name)?.value;
  return resource !== undefined && overallStatus(resource) === "error";
}

function isCurrent(name: string): boolean {
  return route.value.view === "resource" && route.value.name === name;
}

function GroupSection({ group }: { group: Group }) {
  const open = group.hideHeading || nameFilter.value !== "" || !collapsedGroups.value.includes(group.key);
  return (
    <section>
      {group.hideHeading ? null : (
        <h2>
          <button type="button" aria-expanded={open} onClick={() => toggleGroup(group.key)}>
            <Chevron />
            {group.label}
            <span class="group-count">{group.total ?? group.names.length}</span>
            {open ? null : <GroupProblems names={group.names} />}
          </button>
        </h2>
      )}
      {open ? (
        <ul>
          {group.names.map((name) => (
            <MemoByName key={name} name={name} component={ResourceItem} />
          ))}
        </ul>
      ) : null}
    </section>
  );
}

/** Links to the logs of several resources. */
function CombinedLogLinks() {
  const existing = new Set(session.names.value);
  const views = [
    { view: "logs", label: "All logs", isAvailable: true },
    {
      view: "starred",
      label: "Starred logs",
      isAvailable: starredGroup(stars.value, existing).names.length > 0,
    },
  ] as const;
  return (
    <>
      {views
        .filter(({ view, isAvailable }) => isAvailable || route.value.view === view)
        .map(({ view, label }) => (
          <RouteLink
            key={view}
            to={{ view }}
            class="sidebar-item all"
            aria-current={route.value.view === view ? "page" : undefined}
          >
            {label}
          </RouteLink>
        ))}
    </>
  );
}

function ResourceItem({ name }: { name: string }) {
  const { value: resource, isNear, row } = useNearViewport<UIResource, HTMLLIElement>(session.resource(name));
  const current = useComputed(() => isCurrent(name)).value;
  useEffect(() => {
    if (current) row.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  if (!resource) return null;
  const update = updateStatus(resource);
  const runtime = runtimeStatus(resource);
  return (
    <li ref={row} data-name={name} data-near>
      <RouteLink
        to={{ view: "resource", name }}
        class={`sidebar-item${isDisabled(resource) ? " is-disabled" : ""}${isNear ? "" : " far"}`}
        title={`${name}: ${update.label}, ${runtime.label}`}
        aria-label={`${name} ${update.label}, ${runtime.label}`}
        aria-current={current ? "page" : undefined}
      >
        <span class="sidebar-name">{name}</span>
        {isNear ? (
          <>
            <StatusIcon shape={update.shape} />
            <StatusIcon shape={runtime.shape} />
          </>
        ) : null}
      </RouteLink>
    </li>
  );
}
