/**
 * The table of resources, in groups that can be collapsed.
 *
 * Its rows are grids (see overview.css), because browsers lay out a whole table whenever one cell changes. Roles keep
 * it a table for screen readers.
 */

import type { UIResource } from "../generated/protocol";
import {
  collapsedGroups,
  nameFilter,
  sortOrder,
  setSortOrder,
  statusFilter,
  toggleGroup,
} from "../model/listSettings";
import { nextSortOrder, type SortColumn } from "../model/sortOrder";
import { STARRED, type Group } from "../model/session";
import {
  summarizeMessage,
  isDisabled,
  isManual,
  resourceKind,
  resourceMessages,
  runtimeStatus,
  updateStatus,
} from "../model/status";
import { buttons, session } from "../app/appState";
import { Chevron } from "../components/Chevron";
import { CopyButton } from "../components/CopyButton";
import { CustomButtons } from "../components/CustomButton";
import { Endpoints } from "../components/Endpoints";
import { RouteLink } from "../components/RouteLink";
import { TriggerModeButton } from "../components/TriggerModeButton";
import { useNearViewport } from "../components/useNearViewport";
import { MemoByName } from "../components/MemoByName";
import { ResourceMenu } from "../components/ResourceMenu";
import { SelectGroupCheckbox, SelectCheckbox } from "../components/SelectionBar";
import { StarButton } from "../components/StarButton";
import { StatusCell } from "../components/StatusCell";
import { TriggerButton } from "../components/TriggerButton";
import { GroupProblems } from "../components/GroupProblems";
import { UpdateTime } from "../components/UpdateTime";

export function OverviewTable({ groups }: { groups: readonly Group[] }) {
  return (
    <table class="resources" role="table">
      <thead role="rowgroup">
        <tr class="header-row" role="row">
          <SortableHeader column="name">Resource</SortableHeader>
          <SortableHeader column="update">Update</SortableHeader>
          <SortableHeader column="runtime">Runtime</SortableHeader>
          <th scope="col" role="columnheader">
            Endpoints
          </th>
          <th scope="col" role="columnheader">
            Mode
          </th>
          <th scope="col" role="columnheader">
            <span class="visually-hidden">Trigger and more</span>
          </th>
        </tr>
      </thead>
      {groups.map((group) => (
        <GroupBody key={group.key} group={group} />
      ))}
    </table>
  );
}

function SortableHeader({ column, children }: { column: SortColumn; children: string }) {
  const current = sortOrder.value;
  const isSorted = current.column === column;
  return (
    <th
      scope="col"
      role="columnheader"
      aria-sort={isSorted ? (current.descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        class="sort"
        title="Sort; a third click ends it"
        onClick={() => setSortOrder(nextSortOrder(current, column))}
      >
        {children}
        <span aria-hidden="true">{isSorted ? (current.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function GroupBody({ group }: { group: Group }) {
  // Collapsed groups must not hide search results.
  const searching = nameFilter.value !== "" || statusFilter.value !== undefined;
  const isExpanded = searching || group.hideHeading || !collapsedGroups.value.includes(group.key);
  return (
    <tbody role="rowgroup">
      {group.hideHeading ? null : (
        <tr class="group" role="row">
          <th scope="rowgroup" role="rowheader" colSpan={6}>
            <SelectGroupCheckbox label={group.label} names={group.names} />
            <button type="button" aria-expanded={isExpanded} onClick={() => toggleGroup(group.key)}>
              <Chevron />
              {group.label}
              <span class="group-count">{group.total ?? group.names.length}</span>
            </button>
            <GroupProblems names={group.names} />
            {group.key === STARRED ? (
              <RouteLink to={{ view: "starred" }} class="group-logs">
                Starred logs
              </RouteLink>
            ) : null}
          </th>
        </tr>
      )}
      {isExpanded
        ? group.names.map((name) => <MemoByName key={name} name={name} component={ResourceRow} />)
        : null}
    </tbody>
  );
}

/** Endpoints are stacked: two fit into a row of the usual height. In pixels, as in overview.css. */
function estimateRowHeight({ status }: UIResource): number | undefined {
  const links = status.endpointLinks?.length ?? 0;
  return links > 2 ? 7 + links * 24 : undefined;
}

function ResourceRow({ name }: { name: string }) {
  const {
    value: resource,
    isNear,
    row,
    style,
  } = useNearViewport<UIResource, HTMLTableRowElement>(session.resource(name), estimateRowHeight);
  if (!resource) return null;
  const disabled = isDisabled(resource);
  return (
    <tr
      ref={row}
      role="row"
      class={`row${disabled ? " is-disabled" : ""}${isNear ? "" : " far"}`}
      style={style}
      data-resource={name}
      data-near
    >
      <th scope="row" role="rowheader">
        <span class="name-line">
          {isNear ? <SelectCheckbox name={name} /> : null}
          {isNear ? <StarButton name={name} /> : null}
          <RouteLink to={{ view: "resource", name }} class="name">
            {name}
          </RouteLink>
          {isNear && isManual(resource) && !disabled ? <span class="manual-chip">Manual</span> : null}
        </span>
        {isNear ? <ResourceMessage resource={resource} /> : null}
      </th>
      {isNear ? <NearRowCells resource={resource} /> : <FarRowCells resource={resource} />}
    </tr>
  );
}

function ResourceMessage({ resource }: { resource: UIResource }) {
  const [message] = resourceMessages(resource);
  return (
    <span class={`message ${message?.kind ?? "note"}`} title={message?.text}>
      {message ? summarizeMessage(message.text) : resourceKind(resource)}
    </span>
  );
}

/** For screen readers and the browser's page search. */
function FarRowCells({ resource }: { resource: UIResource }) {
  return (
    <td role="cell" colSpan={5}>
      {updateStatus(resource).label}, {runtimeStatus(resource).label}
    </td>
  );
}

function NearRowCells({ resource }: { resource: UIResource }) {
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
              <CopyButton text={pod} description={`the pod's name ${pod}`} />
            </span>
          ) : null}
        </StatusCell>
      </td>
      <td role="cell">
        <EndpointsAndButtons resource={resource} />
      </td>
      <td role="cell">{isDisabled(resource) ? null : <TriggerModeButton resource={resource} />}</td>
      <td role="cell" class="row-actions">
        {isDisabled(resource) ? null : <TriggerButton resource={resource} />}
        <ResourceMenu resource={resource} />
      </td>
    </>
  );
}

/** Side by side where there is room, so that the row is no higher than others. */
function EndpointsAndButtons({ resource }: { resource: UIResource }) {
  const links = resource.status.endpointLinks;
  const customButtons = buttons.forResource(resource.metadata.name);
  if (!links?.length && customButtons.length === 0) return null;
  return (
    <div class="endpoints-and-buttons">
      <Endpoints links={links} />
      <CustomButtons buttons={customButtons} />
    </div>
  );
}
