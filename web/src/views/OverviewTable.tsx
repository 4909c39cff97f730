/**
 * The table of resources, in groups that can be closed.
 *
 * Its rows are grids (see table.css), because a browser lays a table out as a whole whenever one cell of it changes. Roles say
 * to those who listen what it is all the same.
 */

import type { UIResource } from "../generated/protocol";
import { collapsed, nameFilter, order, sortBy, stateFilter, toggleGroup } from "../model/listSettings";
import { nextOrder, type Column } from "../model/sortOrder";
import { STARRED, type Group } from "../model/session";
import { brief, isDisabled, isManual, kind, messages, runtimeStatus, updateStatus } from "../model/status";
import { buttons, session } from "../app/page";
import { Chevron } from "../components/Chevron";
import { CopyButton } from "../components/CopyButton";
import { CustomButtons } from "../components/CustomButton";
import { Endpoints } from "../components/Endpoints";
import { Link } from "../components/RouteLink";
import { ModeSwitch } from "../components/TriggerModeButton";
import { useNear } from "../components/useNearViewport";
import { Once } from "../components/MemoByName";
import { RowMenu } from "../components/ResourceMenu";
import { GroupTick, Tick } from "../components/SelectionBar";
import { Star } from "../components/StarButton";
import { StatusCell } from "../components/StatusCell";
import { TriggerButton } from "../components/TriggerButton";
import { Troubles } from "../components/GroupProblems";
import { UpdateTime } from "../components/UpdateTime";

export function Table({ groups }: { groups: readonly Group[] }) {
  return (
    <table class="resources" role="table">
      <thead role="rowgroup">
        <tr class="heads" role="row">
          <Sortable column="name">Resource</Sortable>
          <Sortable column="update">Update</Sortable>
          <Sortable column="runtime">Runtime</Sortable>
          <th scope="col" role="columnheader">
            Endpoints
          </th>
          <th scope="col" role="columnheader">
            Mode
          </th>
          <th scope="col" role="columnheader">
            <span class="hidden">Trigger and more</span>
          </th>
        </tr>
      </thead>
      {groups.map((group) => (
        <Body key={group.key} group={group} />
      ))}
    </table>
  );
}

function Sortable({ column, children }: { column: Column; children: string }) {
  const now = order.value;
  const sorts = now.column === column;
  return (
    <th
      scope="col"
      role="columnheader"
      aria-sort={sorts ? (now.descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        class="sort"
        title="Sort; a third click ends it"
        onClick={() => sortBy(nextOrder(now, column))}
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
  const open = searching || group.bare || !collapsed.value.includes(group.key);
  return (
    <tbody role="rowgroup">
      {group.bare ? null : (
        <tr class="group" role="row">
          <th scope="rowgroup" role="rowheader" colSpan={6}>
            <GroupTick label={group.label} names={group.names} />
            <button type="button" aria-expanded={open} onClick={() => toggleGroup(group.key)}>
              <Chevron />
              {group.label}
              <span class="group-count">{group.total ?? group.names.length}</span>
            </button>
            <Troubles names={group.names} />
            {group.key === STARRED ? (
              <Link to={{ view: "starred" }} class="group-logs">
                Starred logs
              </Link>
            ) : null}
          </th>
        </tr>
      )}
      {open ? group.names.map((name) => <Once key={name} name={name} draw={Row} />) : null}
    </tbody>
  );
}

/** Endpoints are one under the other: two fit into a row as high as others. In pixels, as table.css has it. */
function heightOf({ status }: UIResource): number | undefined {
  const links = status.endpointLinks?.length ?? 0;
  return links > 2 ? 7 + links * 24 : undefined;
}

function Row({ name }: { name: string }) {
  const {
    value: resource,
    near,
    row,
    style,
  } = useNear<UIResource, HTMLTableRowElement>(session.resource(name), heightOf);
  if (!resource) return null;
  const disabled = isDisabled(resource);
  return (
    <tr
      ref={row}
      role="row"
      class={`row${disabled ? " off" : ""}${near ? "" : " far"}`}
      style={style}
      data-resource={name}
      data-near
    >
      <th scope="row" role="rowheader">
        <span class="name-line">
          {near ? <Tick name={name} /> : null}
          {near ? <Star name={name} /> : null}
          <Link to={{ view: "resource", name }} class="name">
            {name}
          </Link>
          {near && isManual(resource) && !disabled ? <span class="manual-chip">Manual</span> : null}
        </span>
        {near ? <Message resource={resource} /> : null}
      </th>
      {near ? <Cells resource={resource} /> : <FarCells resource={resource} />}
    </tr>
  );
}

function Message({ resource }: { resource: UIResource }) {
  const [message] = messages(resource);
  return (
    <span class={`message ${message?.kind ?? "note"}`} title={message?.text}>
      {message ? brief(message.text) : kind(resource)}
    </span>
  );
}

/** Out of sight: for those who listen, and for the browser's own search. */
function FarCells({ resource }: { resource: UIResource }) {
  return (
    <td role="cell" colSpan={5}>
      {updateStatus(resource).word}, {runtimeStatus(resource).word}
    </td>
  );
}

function Cells({ resource }: { resource: UIResource }) {
  const pod = resource.status.k8sResourceInfo?.podName;
  return (
    <>
      <td role="cell">
        <StatusCell status={updateStatus(resource)}>
          <UpdateTime resource={resource} />
        </StatusCell>
      </td>
      <td role="cell">
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
      <td role="cell">
        <Offers resource={resource} />
      </td>
      <td role="cell">{isDisabled(resource) ? null : <ModeSwitch resource={resource} />}</td>
      <td role="cell" class="row-end">
        {isDisabled(resource) ? null : <TriggerButton resource={resource} />}
        <RowMenu resource={resource} />
      </td>
    </>
  );
}

/** Beside each other where there is room, so that the row is no higher than others. */
function Offers({ resource }: { resource: UIResource }) {
  const links = resource.status.endpointLinks;
  const own = buttons.of(resource.metadata.name);
  if (!links?.length && own.length === 0) return null;
  return (
    <div class="offers">
      <Endpoints links={links} />
      <CustomButtons buttons={own} />
    </div>
  );
}
