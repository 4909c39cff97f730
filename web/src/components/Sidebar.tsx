/** The narrow list beside a log. It stays while one goes from resource to resource. */

import { signal, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { UIResource } from "../generated/protocol";
import {
  collapsed,
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
import { isDisabled, overall, runtimeStatus, updateStatus } from "../model/status";
import { session } from "../app/page";
import { Chevron } from "./Chevron";
import { Link } from "./RouteLink";
import { Mark } from "./StatusIcon";
import { screenful, useNear, useSight } from "./useNearViewport";
import { Once } from "./MemoByName";
import { countOf, cut, useRoom } from "./useProgressiveRows";
import { Troubles } from "./GroupProblems";

/** Rows that there were: at first, what fits on the screen. */
const left = { rows: screenful() };

/** On a small screen it lies over the log, and only when it is wanted. */
const shown = signal(false);

export function ResourceList() {
  const all = useGroups();
  const groups = cut(all, useRoom(left, countOf(all)));
  const scroller = useRef<HTMLDivElement>(null);
  useSight(scroller);
  // It has served its purpose.
  useEffect(() => {
    shown.value = false;
  }, [route.value]);
  return (
    <>
      <button
        type="button"
        class="side-toggle quiet"
        aria-expanded={shown.value}
        onClick={() => (shown.value = !shown.value)}
      >
        <Chevron /> Resources
      </button>
      <nav class={`side${shown.value ? " shown" : ""}`} aria-label="Resources">
        <div class="side-top">
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
        <div class="side-scroll" ref={scroller}>
          <Together />
          {groups.map((group) => (
            <Section key={group.key} group={group} />
          ))}
          {groups.length === 0 && session.known.value ? <p class="muted">Nothing matches.</p> : null}
        </div>
      </nav>
    </>
  );
}

/** As in the overview: stars first, without what is filtered or switched off. */
function useGroups(): Group[] {
  // As a text: most changes of resources leave it the same.
  const off = useComputed(() => {
    if (showDisabled.value) return "";
    return session.names.value
      .filter((name) => {
        const resource = session.resource(name)?.value;
        return resource && isDisabled(resource) && !isShown(name);
      })
      .join("\n");
  });
  const alerts = useComputed(() =>
    failingFirst.value ? session.names.value.filter(isFailing).join("\n") : "",
  );
  const hidden = new Set(off.value.split("\n"));
  const first = new Set(alerts.value.split("\n"));
  const known = new Set(session.names.value);
  return [starredGroup(stars.value, known), ...session.groups.value]
    .map((group) => ({
      ...group,
      names: group.names
        .filter((name) => matchesName(name) && !hidden.has(name))
        .sort((one, other) => Number(first.has(other)) - Number(first.has(one))),
    }))
    .filter((group) => group.names.length > 0);
}

function isFailing(name: string): boolean {
  const resource = session.resource(name)?.value;
  return resource !== undefined && overall(resource) === "error";
}

function isShown(name: string): boolean {
  return route.value.view === "resource" && route.value.name === name;
}

function Section({ group }: { group: Group }) {
  const open = group.bare || nameFilter.value !== "" || !collapsed.value.includes(group.key);
  return (
    <section>
      {group.bare ? null : (
        <h2>
          <button type="button" aria-expanded={open} onClick={() => toggleGroup(group.key)}>
            <Chevron />
            {group.label}
            <span class="group-count">{group.total ?? group.names.length}</span>
            {open ? null : <Troubles names={group.names} />}
          </button>
        </h2>
      )}
      {open ? (
        <ul>
          {group.names.map((name) => (
            <Once key={name} name={name} draw={Item} />
          ))}
        </ul>
      ) : null}
    </section>
  );
}

/** The logs of several resources. */
function Together() {
  const known = new Set(session.names.value);
  const views = [
    { view: "logs", words: "All logs", there: true },
    { view: "starred", words: "Starred logs", there: starredGroup(stars.value, known).names.length > 0 },
  ] as const;
  return (
    <>
      {views
        .filter(({ view, there }) => there || route.value.view === view)
        .map(({ view, words }) => (
          <Link
            key={view}
            to={{ view }}
            class="side-item all"
            aria-current={route.value.view === view ? "page" : undefined}
          >
            {words}
          </Link>
        ))}
    </>
  );
}

function Item({ name }: { name: string }) {
  const { value: resource, near, row } = useNear<UIResource, HTMLLIElement>(session.resource(name));
  const current = useComputed(() => isShown(name)).value;
  useEffect(() => {
    if (current) row.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  if (!resource) return null;
  const update = updateStatus(resource);
  const runtime = runtimeStatus(resource);
  return (
    <li ref={row} data-name={name} data-near>
      <Link
        to={{ view: "resource", name }}
        class={`side-item${isDisabled(resource) ? " off" : ""}${near ? "" : " far"}`}
        title={`${name}: ${update.word}, ${runtime.word}`}
        aria-label={`${name} ${update.word}, ${runtime.word}`}
        aria-current={current ? "page" : undefined}
      >
        <span class="side-name">{name}</span>
        {near ? (
          <>
            <Mark shape={update.shape} />
            <Mark shape={runtime.shape} />
          </>
        ) : null}
      </Link>
    </li>
  );
}
