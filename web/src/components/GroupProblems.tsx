/**
 * How many resources of a group need attention, shown in its heading so that a collapsed group does not hide them.
 */

import { overallStatus, overallLabels } from "../model/status";
import { session } from "../app/appState";
import { StatusIcon } from "./StatusIcon";

const problemStatuses = ["error", "busy", "starting", "waiting"] as const;

export function GroupProblems({ names }: { names: readonly string[] }) {
  const statuses = names
    .map((name) => session.resource(name)?.value)
    .map((found) => found && overallStatus(found));
  return (
    <span class="group-problems">
      {problemStatuses.map((state) => {
        const count = statuses.filter((found) => found === state).length;
        return count === 0 ? null : (
          <span key={state} title={`${count} ${overallLabels[state]}`}>
            <StatusIcon shape={state} />
            {count} <span class="visually-hidden">{overallLabels[state]}</span>
          </span>
        );
      })}
    </span>
  );
}
