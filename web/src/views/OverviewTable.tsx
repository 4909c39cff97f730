/** The table of resources, in groups that can be closed. */

import { signal } from "@preact/signals";
import { recall, remember } from "../model/memory";
import { asDeclared, nextOrder, type Column, type Order } from "../model/order";
import type { Group } from "../model/session";
import {
  isDisabled,
  kind,
  messages,
  overall,
  overallWord,
  runtimeStatus,
  updateStatus,
} from "../model/status";
import { buttons, nameFilter, session, stateFilter } from "../page";
import { CopyButton } from "../parts/CopyButton";
import { CustomButtons } from "../parts/CustomButton";
import { Endpoints } from "../parts/Endpoints";
import { Link } from "../parts/Link";
import { Mark } from "../parts/Mark";
import { ModeSwitch } from "../parts/ModeSwitch";
import { useNear } from "../parts/near";
import { Once } from "../parts/Once";
import { RowMenu } from "../parts/RowMenu";
import { Star } from "../parts/Star";
import { StatusCell } from "../parts/StatusCell";
import { TriggerButton } from "../parts/TriggerButton";
import { UpdateTime } from "../parts/UpdateTime";

const collapsed = signal<readonly string[]>(recall("collapsed", []));

/** Counts the sorts: the same order once more sorts by how things are now. */
export const order = signal<Order & { turn: number }>({ ...asDeclared, turn: 0 });

function toggle(label: string): void {
  const now = collapsed.peek();
  collapse(now.includes(label) ? now.filter((other) => other !== label) : [...now, label]);
}

export function collapse(labels: readonly string[]): void {
  collapsed.value = labels;
  remember("collapsed", labels);
}

export function Table({ groups }: { groups: readonly Group[] }) {
  return (
    <table class="resources">
      <colgroup>
        <col class="c-name" />
        <col class="c-update" />
        <col class="c-runtime" />
        <col class="c-endpoints" />
        <col class="c-mode" />
        <col class="c-trigger" />
      </colgroup>
      <thead>
        <tr>
          <Sortable column="name">Resource</Sortable>
          <Sortable column="update">Update</Sortable>
          <Sortable column="runtime">Runtime</Sortable>
          <th scope="col">Endpoints</th>
          <th scope="col">Mode</th>
          <th scope="col">
            <span class="hidden">Trigger and more</span>
          </th>
        </tr>
      </thead>
      {groups.map((group) => (
        <Body key={group.label} group={group} />
      ))}
    </table>
  );
}

function Sortable({ column, children }: { column: Column; children: string }) {
  const now = order.value;
  const sorts = now.column === column;
  return (
    <th scope="col" aria-sort={sorts ? (now.descending ? "descending" : "ascending") : undefined}>
      <button
        type="button"
        class="sort"
        title="Sort; a third click ends it"
        onClick={() => (order.value = { ...nextOrder(now, column), turn: now.turn + 1 })}
      >
        {children}
        <span aria-hidden="true">{sorts ? (now.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
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
          <th scope="rowgroup" colSpan={6}>
            <button type="button" aria-expanded={open} onClick={() => toggle(group.label)}>
              <svg viewBox="0 0 16 16" aria-hidden="true" class="chevron">
                <path d="M5 6.5l3 3 3-3" class="stroke" />
              </svg>
              {group.label}
              <span class="group-count">{group.total ?? group.names.length}</span>
            </button>
            <Troubles names={group.names} />
          </th>
        </tr>
      )}
      {open ? group.names.map((name) => <Once key={name} name={name} draw={Row} />) : null}
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
  const { value: resource, near, row } = useNear(session.resource(name));
  if (!resource) return null;
  const [message] = messages(resource);
  const pod = resource.status.k8sResourceInfo?.podName;
  return (
    <tr
      ref={row}
      class={`row${isDisabled(resource) ? " off" : ""}${near ? "" : " far"}`}
      data-resource={name}
    >
      <th scope="row">
        <span class="name-line">
          <Star name={name} />
          <Link to={{ view: "resource", name }} class="name">
            {name}
          </Link>
        </span>
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
            <span class="pod-line">
              <span class="pod" title={pod}>
                {pod}
              </span>
              <CopyButton text={pod} what={`the pod's name ${pod}`} />
            </span>
          ) : null}
        </StatusCell>
      </td>
      <td>
        <Endpoints links={resource.status.endpointLinks} />
        <CustomButtons buttons={buttons.of(name)} />
      </td>
      <td>{isDisabled(resource) ? null : <ModeSwitch resource={resource} />}</td>
      <td class="row-end">
        <TriggerButton resource={resource} />
        <RowMenu resource={resource} />
      </td>
    </tr>
  );
}
