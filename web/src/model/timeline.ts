/** The stages of a resource's updates, scaled for drawing. */

import { fetchJson } from "../connection/http";
import type { Stage, StageKind, Timeline, UpdateRecord } from "../generated/protocol";

export async function fetchTimeline(resource: string): Promise<readonly UpdateRecord[]> {
  const { resources } = await fetchJson<Timeline>(`/api/timeline?resource=${encodeURIComponent(resource)}`);
  // Newest first.
  return (resources[0]?.updates ?? []).toReversed();
}

const stageLabels: Record<StageKind, string> = {
  wait: "wait",
  load: "load",
  build: "build",
  push: "push",
  deploy: "deploy",
  run: "run",
  detect: "detect",
  send: "send",
  write: "write",
  restart: "restart",
  missed: "missed",
  schedule: "schedule",
  pull: "pull",
  start: "start",
  ready: "ready",
};

export function stageLabel(stage: Stage): string {
  return stage.detail ? `${stageLabels[stage.stage]} ${stage.detail}` : stageLabels[stage.stage];
}

export interface StageBar {
  stage: Stage;
  label: string;
  /** As a fraction of the whole width, like `width`. */
  left: number;
  width: number;
  milliseconds: number;
  running: boolean;
}

/**
 * Returns start and end of an update. Stages after a deployment, such as the pod's start, may end after the update.
 */
export function timeRange(update: UpdateRecord, now: number): { begin: number; end: number } {
  const begin = Date.parse(update.begin);
  const ends = update.stages.map((stage) => (stage.end ? Date.parse(stage.end) : now));
  const updateEnd = update.end ? Date.parse(update.end) : now;
  return { begin, end: Math.max(updateEnd, begin + 1, ...ends) };
}

export function stageBars(update: UpdateRecord, now: number): StageBar[] {
  const { begin, end } = timeRange(update, now);
  const total = end - begin;
  return update.stages.map((stage) => {
    const from = Date.parse(stage.begin);
    const until = stage.end ? Date.parse(stage.end) : now;
    return {
      stage,
      label: stageLabel(stage),
      left: Math.max(0, (from - begin) / total),
      width: Math.min(1, Math.max(0, (until - from) / total)),
      milliseconds: Math.max(0, until - from),
      running: !stage.end,
    };
  });
}
