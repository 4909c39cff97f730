import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import {
  collapse,
  matchesName,
  nameFilter,
  order,
  setShowDisabled,
  showDisabled,
  sortBy,
  stateFilter,
} from "../model/listSettings";
import { columns, columnWords, sorted, type Column } from "../model/sortOrder";
import { visited } from "../model/route";
import { starredGroup, type Group } from "../model/session";
import { stars } from "../model/stars";
import { overall, overallWord } from "../model/status";
import { session, setEnabled } from "../app/page";
import { screenful, useSight } from "../components/useNearViewport";
import { countOf, cut, useRoom } from "../components/useProgressiveRows";
import { SelectionBar, selectedNames } from "../components/SelectionBar";
import { Table } from "./OverviewTable";

/** What had the chosen state stays until another one is chosen: a row must not vanish under the hand. */
function useStateFilter(): (name: string) => boolean {
  const state = stateFilter.value;
  const kept = useRef({ state, names: new Set<string>() });
  if (kept.current.state !== state) kept.current = { state, names: new Set() };
  return (name) => {
    // Without a look at the resource, so that not every change of one draws the table anew.
    if (state === undefined && showDisabled.value) return true;
    const resource = session.resource(name)?.value;
    if (!resource) return false;
    const now = overall(resource);
    if (state === undefined) return now !== "disabled";
    if (now === state) kept.current.names.add(name);
    return kept.current.names.has(name);
  };
}

/** As the reader sorts, but not anew with every change. */
function useGroups(): Group[] {
  const groups = session.groups.value;
  const { column, descending, turn } = order.value;
  const starred = stars.value;
  return useMemo(() => {
    const known = new Set(session.names.peek());
    const all = [starredGroup(starred, known), ...groups];
    const find = (name: string) => session.resource(name)?.peek();
    return all.map((group) => ({ ...group, names: sorted(group.names, { column, descending }, find) }));
  }, [groups, column, descending, turn, starred]);
}

/** Where the reader was when another view was chosen, and how many rows there were: at first, what fits on the screen. */
const left = { top: 0, rows: screenful(50) };

/** Who comes back finds the place again, and goes on by keys from the resource that was looked at. */
function usePlace(complete: boolean) {
  const scroller = useRef<HTMLElement>(null);
  const wanted = useRef(visited.name);
  useLayoutEffect(() => {
    // Not for the sake of nothing: the browser has to work out all places for it.
    if (scroller.current && left.top > 0) scroller.current.scrollTop = left.top;
  }, []);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const row = scroller.current?.querySelector(`tr[data-resource="${CSS.escape(wanted.current)}"]`);
    if (row || complete) wanted.current = undefined;
    if (!row) return;
    row.scrollIntoView({ block: "nearest" });
    // Who has the focus elsewhere, as on a link in the bar at the top, keeps it there.
    const free = document.activeElement === null || document.activeElement === document.body;
    if (free) row.querySelector<HTMLAnchorElement>("a.name")?.focus({ preventScroll: true });
  });
  const scrolled = () => {
    left.top = scroller.current?.scrollTop ?? 0;
  };
  return { scroller, scrolled };
}

export function Overview() {
  const hasState = useStateFilter();
  const all = session.names.value.length;
  const groups = useGroups()
    .map((group) => ({ ...group, names: group.names.filter((name) => matchesName(name) && hasState(name)) }))
    .filter((group) => group.names.length > 0);
  const shown = new Set(groups.flatMap((group) => group.names)).size;
  const rows = countOf(groups);
  const room = useRoom(left, rows);
  const { scroller, scrolled } = usePlace(session.known.value && room >= rows);
  useSight(scroller);
  const state = stateFilter.value;
  const ticked = selectedNames();
  return (
    <main
      id="main"
      class={`overview${ticked.length > 0 ? " selecting" : ""}`}
      ref={scroller}
      onScroll={scrolled}
    >
      <h1 class="hidden">Resources</h1>
      <div class="toolbar">
        <input
          type="search"
          data-filter
          placeholder="Filter resources"
          aria-label="Filter resources by name"
          value={nameFilter.value}
          onInput={(event) => (nameFilter.value = event.currentTarget.value)}
        />
        <span class="quantity" role="status">
          {shown === all ? `${all} resources` : `${shown} of ${all} resources`}
          {state ? ` · only: ${overallWord[state]}` : null}
        </span>
        {state ? (
          <button type="button" class="quiet" onClick={() => (stateFilter.value = undefined)}>
            Show all
          </button>
        ) : null}
        <Tools groups={groups} />
      </div>
      {shown > 0 ? <Table groups={cut(groups, room)} /> : <Empty all={all} />}
      {ticked.length > 0 ? <SelectionBar names={ticked} /> : null}
    </main>
  );
}

function Tools({ groups }: { groups: readonly Group[] }) {
  const { disabled } = session.counts.value;
  const keys = groups.filter((group) => !group.bare).map(({ key }) => key);
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
      {keys.length > 1 ? (
        <>
          <button type="button" class="quiet" onClick={() => collapse(keys)}>
            Close all
          </button>
          <button type="button" class="quiet" onClick={() => collapse([])}>
            Open all
          </button>
        </>
      ) : null}
      <Sort />
    </span>
  );
}

/** Also for what has no column of its own, and where there is no room for columns. */
function Sort() {
  return (
    <select
      class="plain"
      aria-label="Sort"
      value={order.value.column ?? ""}
      onChange={(event) => {
        const column = (event.currentTarget.value || undefined) as Column | undefined;
        sortBy({ column, descending: false });
      }}
    >
      <option value="">Tiltfile order</option>
      {columns.map((column) => (
        <option key={column} value={column}>
          By {columnWords[column].toLowerCase()}
        </option>
      ))}
    </select>
  );
}

function enableAll(): void {
  const off = session.names.peek().filter((name) => {
    const resource = session.resource(name)?.peek();
    return resource && overall(resource) === "disabled";
  });
  setEnabled(off, true);
}

function Empty({ all }: { all: number }) {
  if (!session.known.value) return <p class="empty">Waiting for the session…</p>;
  return (
    <p class="empty">{all === 0 ? "The Tiltfile has no resources yet." : "Nothing matches the filter."}</p>
  );
}
