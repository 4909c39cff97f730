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
    .map((resource) => resource && overallStatus(resource));
  return (
    <span class="group-problems">
      {problemStatuses.map((problem) => {
        const count = statuses.filter((status) => status === problem).length;
        return count === 0 ? null : (
          <span key={problem} title={`${count} ${overallLabels[problem]}`}>
            <StatusIcon shape={problem} />
            {count} <span class="visually-hidden">{overallLabels[problem]}</span>
          </span>
        );
      })}
    </span>
  );
}
