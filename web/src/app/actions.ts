/** Requests that a user sends to the session. */

import type { Request } from "../generated/protocol";
import { toggleNotifications } from "../model/notifications";
import { isDisabled } from "../model/status";
import { connection, session, showToast, snapshotTime } from "./appState";

/** Sends a request to the session, or shows `failureText` with the reason why it cannot. */
function sendRequest(request: Request, failureText: string): void {
  if (snapshotTime.peek() !== undefined) {
    showToast(`${failureText}: this is a snapshot`);
    return;
  }
  if (!connection.send({ type: "ask", request })) showToast(`${failureText}: no connection to lilt`);
}

/** Tilt's `build_reason` flag for an update that was triggered in the web UI. */
const WEB_BUILD_REASON = 16;

export function triggerUpdate(resource: string): void {
  const current = session.resource(resource)?.peek();
  if (current && isDisabled(current)) {
    showToast(`${resource} is disabled: enable it first`);
    return;
  }
  sendRequest({ type: "trigger", resource, reason: WEB_BUILD_REASON }, `${resource} was not triggered`);
}

export function cancelUpdate(resource: string): void {
  sendRequest({ type: "cancel", resource }, `the update of ${resource} goes on`);
}

export function setManual(resources: readonly string[], manual: boolean): void {
  const mode = manual ? "manual" : "auto";
  sendRequest(
    { type: "set_trigger_mode", resources: [...resources], mode },
    `${resources.join(", ")} stays as it is`,
  );
}

export function setEnabled(resources: readonly string[], enabled: boolean): void {
  const [enable, disable] = enabled ? [[...resources], []] : [[], [...resources]];
  sendRequest({ type: "switch", enable, disable }, `${resources.join(", ")} stays as it is`);
}

/** Makes lilt probe every unreachable cluster, Docker engine and registry now. */
export function retryUnreachable(): void {
  sendRequest({ type: "reconnect" }, "lilt did not reconnect");
}

export async function switchNotifications(): Promise<void> {
  if (!(await toggleNotifications())) showToast("This browser does not let the page notify you");
}
