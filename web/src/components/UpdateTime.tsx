/** When the last update finished and how long it took, or how long the current one has been running. */

import type { UIResource } from "../generated/protocol";
import { formatAge, formatElapsed, now, formatTimeOfDay, formatWholeSeconds } from "../model/time";

export function UpdateTime({ resource }: { resource: UIResource }) {
  const { currentBuild, buildHistory, lastDeployTime, updateStatus } = resource.status;
  if (updateStatus === "not_applicable" && !currentBuild) return null;
  if (currentBuild?.startTime) {
    return <>for {formatWholeSeconds(now.value - Date.parse(currentBuild.startTime))}</>;
  }
  const last = buildHistory?.[0];
  const finished = last?.finishTime ?? lastDeployTime;
  if (!finished) return null;
  const took = formatElapsed(last?.startTime, last?.finishTime);
  return (
    <time dateTime={finished} title={`finished ${formatTimeOfDay(finished)}${took && `, took ${took}`}`}>
      {formatAge(finished, now.value)}
      {took ? <span class="update-duration"> · {took}</span> : null}
    </time>
  );
}
