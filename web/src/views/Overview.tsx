import { signal } from "@preact/signals";
import { messages, overall, overallWord, runtimeStatus, updateStatus, kind } from "../model/status";
import type { Group } from "../model/session";
import { nameFilter, session, stateFilter } from "../page";
import { Endpoints } from "../parts/Endpoints";
import { Link } from "../parts/Link";
import { Mark } from "../parts/Mark";
import { StatusCell } from "../parts/StatusCell";
import { TriggerButton } from "../parts/TriggerButton";
import { UpdateTime } from "../parts/UpdateTime";
import { recall, remember } from "../model/memory";

const collapsed = signal<readonly string[]>(recall("collapsed", []));

function toggle(label: string): void {
  const now = collapsed.peek();
  collapsed.value = now.includes(label) ? now.filter((other) => other !== label) : [...now, label];
  remember("collapsed", collapsed.peek());
}

function isShown(name: string): boolean {
  const text = nameFilter.value.trim().toLowerCase();
  if (text !== "" && !name.toLowerCase().includes(text)) return false;
  const state = stateFilter.value;
  if (state === undefined) return true;
  const resource = session.resource(name)?.value;
  return resource !== undefined && overall(resource) === state;
}

export function Overview() {
  const groups = session.groups.value
    .map((group) => ({ ...group, names: group.names.filter(isShown) }))
    .filter((group) => group.names.length > 0);
  const shown = new Set(groups.flatMap((group) => group.names)).size;
  const all = session.names.value.length;
  const state = stateFilter.value;
  return (
    <main id="main" class="overview">
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
          {state ? ` · only: ${overallWord[state]}` : ""}
        </span>
        {state ? (
          <button type="button" class="quiet" onClick={() => (stateFilter.value = undefined)}>
            Show all
          </button>
        ) : null}
      </div>
      {groups.length > 0 ? <Table groups={groups} /> : <Empty all={all} />}
    </main>
  );
}

function Empty({ all }: { all: number }) {
  if (!session.known.value) return <p class="empty">Waiting for the session…</p>;
  return (
    <p class="empty">{all === 0 ? "The Tiltfile has no resources yet." : "Nothing matches the filter."}</p>
  );
}

function Table({ groups }: { groups: readonly Group[] }) {
  return (
    <table class="resources">
      <colgroup>
        <col class="c-name" />
        <col class="c-update" />
        <col class="c-runtime" />
        <col class="c-endpoints" />
        <col class="c-trigger" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Resource</th>
          <th scope="col">Update</th>
          <th scope="col">Runtime</th>
          <th scope="col">Endpoints</th>
          <th scope="col">
            <span class="hidden">Trigger</span>
          </th>
        </tr>
      </thead>
      {groups.map((group) => (
        <Body key={group.label} group={group} />
      ))}
    </table>
  );
}

function Body({ group }: { group: Group }) {
  // Nothing is hidden from somebody who searches.
  const searching = nameFilter.value !== "" || stateFilter.value !== undefined;
  const open = searching || group.bare || !collapsed.value.includes(group.label);
  return (
    <tbody>
      {group.bare ? null : (
        <tr class="group">
          <th scope="rowgroup" colSpan={5}>
            <button type="button" aria-expanded={open} onClick={() => toggle(group.label)}>
              <svg viewBox="0 0 16 16" aria-hidden="true" class="chevron">
                <path d="M5 6.5l3 3 3-3" class="stroke" />
              </svg>
              {group.label}
              <span class="group-count">{group.names.length}</span>
            </button>
            <Troubles names={group.names} />
          </th>
        </tr>
      )}
      {open ? group.names.map((name) => <Row key={name} name={name} />) : null}
    </tbody>
  );
}

/** So that a closed group does not hide what needs attention. */
function Troubles({ names }: { names: readonly string[] }) {
  const states = names.map((name) => session.resource(name)?.value).map((found) => found && overall(found));
  return (
    <span class="troubles">
      {(["error", "busy", "waiting"] as const).map((state) => {
        const count = states.filter((found) => found === state).length;
        return count === 0 ? null : (
          <span key={state} title={`${count} ${overallWord[state]}`}>
            <Mark shape={state} />
            {count} <span class="hidden">{overallWord[state]}</span>
          </span>
        );
      })}
    </span>
  );
}

function Row({ name }: { name: string }) {
  const resource = session.resource(name)?.value;
  if (!resource) return null;
  const [message] = messages(resource);
  const pod = resource.status.k8sResourceInfo?.podName;
  return (
    <tr class="row" data-resource={name}>
      <th scope="row">
        <Link to={{ view: "resource", name }} class="name">
          {name}
        </Link>
        <span class={`message ${message?.kind ?? "note"}`} title={message?.text}>
          {message ? message.text.split("\n", 1)[0] : kind(resource)}
        </span>
      </th>
      <td>
        <StatusCell status={updateStatus(resource)}>
          <UpdateTime resource={resource} />
        </StatusCell>
      </td>
      <td>
        <StatusCell status={runtimeStatus(resource)}>
          {pod ? (
            <span class="pod" title={pod}>
              {pod}
            </span>
          ) : null}
        </StatusCell>
      </td>
      <td>
        <Endpoints links={resource.status.endpointLinks} />
      </td>
      <td>
        <TriggerButton resource={resource} />
      </td>
    </tr>
  );
}
