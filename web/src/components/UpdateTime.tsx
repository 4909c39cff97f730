/** When the last update was and how long it took, or how long the running one has been going. */

import type { UIResource } from "../generated/protocol";
import { ago, between, now, timeOfDay, wholeSeconds } from "../model/time";

export function UpdateTime({ resource }: { resource: UIResource }) {
  const { currentBuild, buildHistory, lastDeployTime, updateStatus } = resource.status;
  if (updateStatus === "not_applicable" && !currentBuild) return null;
  if (currentBuild?.startTime) {
    return <>for {wholeSeconds(now.value - Date.parse(currentBuild.startTime))}</>;
  }
  const last = buildHistory?.[0];
  const finished = last?.finishTime ?? lastDeployTime;
  if (!finished) return null;
  const took = between(last?.startTime, last?.finishTime);
  return (
    <time dateTime={finished} title={`finished ${timeOfDay(finished)}${took && `, took ${took}`}`}>
      {ago(finished, now.value)}
      {took ? <span class="took"> · {took}</span> : null}
    </time>
  );
}
