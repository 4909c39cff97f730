import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import {
  setCollapsedGroups,
  matchesName,
  nameFilter,
  sortOrder,
  setShowDisabled,
  showDisabled,
  setSortOrder,
  statusFilter,
} from "../model/listSettings";
import { sortColumns, columnLabels, sortResources, type SortColumn } from "../model/sortOrder";
import { lastVisited } from "../model/route";
import { starredGroup, type Group } from "../model/session";
import { stars } from "../model/stars";
import { overallStatus, overallLabels } from "../model/status";
import { setEnabled } from "../app/actions";
import { session } from "../app/appState";
import { rowsPerScreen, useViewportTracking } from "../components/useNearViewport";
import { countRows, limitRows, useProgressiveRows } from "../components/useProgressiveRows";
import { SelectionBar, selectedNames } from "../components/SelectionBar";
import { OverviewTable } from "./OverviewTable";

/**
 * Returns the filter by status. A row that matched stays until another status is chosen, so that it does not vanish
 * under the pointer.
 */
function useStatusFilter(): (name: string) => boolean {
  const state = statusFilter.value;
  const matched = useRef({ state, names: new Set<string>() });
  if (matched.current.state !== state) matched.current = { state, names: new Set() };
  return (name) => {
    // Reads no resource, so that not every change of one rerenders the table.
    if (state === undefined && showDisabled.value) return true;
    const resource = session.resource(name)?.value;
    if (!resource) return false;
    const current = overallStatus(resource);
    if (state === undefined) return current !== "disabled";
    if (current === state) matched.current.names.add(name);
    return matched.current.names.has(name);
  };
}

/** Returns the sorted groups; sorted again only when rows come or go and when the user sorts. */
function useSortedGroups(): Group[] {
  const groups = session.groups.value;
  const { column, descending, revision } = sortOrder.value;
  const starred = stars.value;
  return useMemo(() => {
    const existing = new Set(session.names.peek());
    const unsortedGroups = [starredGroup(starred, existing), ...groups];
    const find = (name: string) => session.resource(name)?.peek();
    return unsortedGroups.map((group) => ({
      ...group,
      names: sortResources(group.names, { column, descending }, find),
    }));
  }, [groups, column, descending, revision, starred]);
}

/** Scroll position and number of rows when the overview was left; initially as many rows as fit on the screen. */
const previousView = { top: 0, rows: rowsPerScreen(50) };

/** Restores the scroll position, and moves the focus to the resource that was visited last. */
function useRestoredPosition(complete: boolean) {
  const scroller = useRef<HTMLElement>(null);
  const rowToFocus = useRef(lastVisited.name);
  useLayoutEffect(() => {
    // Assigning `scrollTop` forces a layout.
    if (scroller.current && previousView.top > 0) scroller.current.scrollTop = previousView.top;
  }, []);
  useLayoutEffect(() => {
    if (rowToFocus.current === undefined) return;
    const row = scroller.current?.querySelector(`tr[data-resource="${CSS.escape(rowToFocus.current)}"]`);
    if (row || complete) rowToFocus.current = undefined;
    if (!row) return;
    row.scrollIntoView({ block: "nearest" });
    // A focus elsewhere, such as on a link in the header, stays there.
    const hasNoFocus = document.activeElement === null || document.activeElement === document.body;
    if (hasNoFocus) row.querySelector<HTMLAnchorElement>("a.name")?.focus({ preventScroll: true });
  });
  const onScroll = () => {
    previousView.top = scroller.current?.scrollTop ?? 0;
  };
  return { scroller, onScroll };
}

export function Overview() {
  const matchesStatus = useStatusFilter();
  const total = session.names.value.length;
  const groups = useSortedGroups()
    .map((group) => ({
      ...group,
      names: group.names.filter((name) => matchesName(name) && matchesStatus(name)),
    }))
    .filter((group) => group.names.length > 0);
  const shownCount = new Set(groups.flatMap((group) => group.names)).size;
  const rows = countRows(groups);
  const rowLimit = useProgressiveRows(previousView, rows);
  const { scroller, onScroll } = useRestoredPosition(session.isLoaded.value && rowLimit >= rows);
  useViewportTracking(scroller);
  const state = statusFilter.value;
  const selectedRows = selectedNames();
  return (
    <main
      id="main"
      class={`overview${selectedRows.length > 0 ? " selecting" : ""}`}
      ref={scroller}
      onScroll={onScroll}
    >
      <h1 class="visually-hidden">Resources</h1>
      <div class="toolbar">
        <input
          type="search"
          data-filter
          placeholder="Filter resources"
          aria-label="Filter resources by name"
          value={nameFilter.value}
          onInput={(event) => (nameFilter.value = event.currentTarget.value)}
        />
        <span class="result-count" role="status">
          {shownCount === total ? `${total} resources` : `${shownCount} of ${total} resources`}
          {state ? ` · only: ${overallLabels[state]}` : null}
        </span>
        {state ? (
          <button type="button" class="quiet" onClick={() => (statusFilter.value = undefined)}>
            Show all
          </button>
        ) : null}
        <OverviewTools groups={groups} />
      </div>
      {shownCount > 0 ? (
        <OverviewTable groups={limitRows(groups, rowLimit)} />
      ) : (
        <EmptyOverview total={total} />
      )}
      {selectedRows.length > 0 ? <SelectionBar names={selectedRows} /> : null}
    </main>
  );
}

function OverviewTools({ groups }: { groups: readonly Group[] }) {
  const { disabled } = session.counts.value;
  const groupKeys = groups.filter((group) => !group.hideHeading).map(({ key }) => key);
  return (
    <span class="overview-tools">
      {disabled > 0 ? (
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={showDisabled.value}
              onChange={(event) => setShowDisabled(event.currentTarget.checked)}
            />
            {disabled} disabled
          </label>
          <button type="button" class="quiet" onClick={enableAll}>
            Enable all
          </button>
        </>
      ) : null}
      {groupKeys.length > 1 ? (
        <>
          <button type="button" class="quiet" onClick={() => setCollapsedGroups(groupKeys)}>
            Close all
          </button>
          <button type="button" class="quiet" onClick={() => setCollapsedGroups([])}>
            Open all
          </button>
        </>
      ) : null}
      <SortSelect />
    </span>
  );
}

/** Also for orders without a column, and for screens without column headers. */
function SortSelect() {
  return (
    <select
      class="borderless"
      aria-label="Sort"
      value={sortOrder.value.column ?? ""}
      onChange={(event) => {
        const column = (event.currentTarget.value || undefined) as SortColumn | undefined;
        setSortOrder({ column, descending: false });
      }}
    >
      <option value="">Tiltfile order</option>
      {sortColumns.map((column) => (
        <option key={column} value={column}>
          By {columnLabels[column].toLowerCase()}
        </option>
      ))}
    </select>
  );
}

function enableAll(): void {
  const disabledNames = session.names.peek().filter((name) => {
    const resource = session.resource(name)?.peek();
    return resource && overallStatus(resource) === "disabled";
  });
  setEnabled(disabledNames, true);
}

function EmptyOverview({ total }: { total: number }) {
  if (!session.isLoaded.value) return <p class="empty">Waiting for the session…</p>;
  return (
    <p class="empty">{total === 0 ? "The Tiltfile has no resources yet." : "Nothing matches the filter."}</p>
  );
}
