import type { ComponentChildren } from "preact";
import type { Status } from "../model/status";
import { StatusIcon } from "./StatusIcon";

export function StatusCell({ status, children }: { status: Status; children?: ComponentChildren }) {
  return (
    <div class={`status ${status.shape}`} title={status.shape === "absent" ? status.label : undefined}>
      <StatusIcon shape={status.shape} />
      <div class="status-text">
        <span class="status-label">{status.label}</span>
        {children ? <span class="detail">{children}</span> : null}
      </div>
    </div>
  );
}
