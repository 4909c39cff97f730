/** Resources for tests. */

import type { ObjectMeta, ServerMessage, UIResource, UIResourceStatus } from "../generated/protocol";

export function testResource(
  name: string,
  status: Partial<UIResourceStatus> = {},
  metadata: Partial<ObjectMeta> = {},
): UIResource {
  return {
    apiVersion: "tilt.dev/v1alpha1",
    kind: "UIResource",
    metadata: { name, ...metadata },
    status: { updateStatus: "ok", runtimeStatus: "not_applicable", ...status },
  };
}

export function stateMessage(
  change: Partial<Extract<ServerMessage, { type: "state" }>>,
): Extract<ServerMessage, { type: "state" }> {
  return { type: "state", complete: false, resources: [], removed: [], ...change };
}
