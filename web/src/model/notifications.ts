/** Desktop notifications about resources that fail and that work again. */

import { effect, signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";
import { navigate } from "./route";
import type { Session } from "./session";
import { resourceMessages, overallStatus, type OverallStatus } from "./status";

export const notificationsEnabled = signal(
  loadSetting("notify", false) && "Notification" in globalThis && Notification.permission === "granted",
);

/** Asks for the browser's permission first. Returns false if it is denied. */
export async function toggleNotifications(): Promise<boolean> {
  if (notificationsEnabled.peek()) {
    notificationsEnabled.value = false;
  } else {
    if (!("Notification" in globalThis)) return false;
    notificationsEnabled.value = (await Notification.requestPermission()) === "granted";
    if (!notificationsEnabled.peek()) return false;
  }
  saveSetting("notify", notificationsEnabled.peek());
  return true;
}

export interface StateChange {
  name: string;
  /** False if it works again. */
  failed: boolean;
}

/** Returns the resources that started to fail or work again between two states. New resources are not reported. */
export function stateChanges(
  before: ReadonlyMap<string, OverallStatus>,
  now: ReadonlyMap<string, OverallStatus>,
): StateChange[] {
  const changes: StateChange[] = [];
  for (const [name, state] of now) {
    const previous = before.get(name);
    if (state === "error" && previous !== undefined && previous !== "error")
      changes.push({ name, failed: true });
    if (state === "ok" && previous === "error") changes.push({ name, failed: false });
  }
  return changes;
}

/** Keeps a resource failing while its next update runs, until that succeeds. */
export function keepErrorUntilOk(before: OverallStatus | undefined, now: OverallStatus): OverallStatus {
  return before === "error" && (now === "busy" || now === "starting" || now === "waiting") ? "error" : now;
}

export function startNotifications(session: Session): void {
  let previousStates: ReadonlyMap<string, OverallStatus> = new Map();
  effect(() => {
    // Without notifications, changes of a thousand resources must not cost anything.
    if (!notificationsEnabled.value) {
      previousStates = new Map();
      return;
    }
    const states = new Map<string, OverallStatus>();
    for (const name of session.names.value) {
      const resource = session.resource(name)?.value;
      if (resource) states.set(name, keepErrorUntilOk(previousStates.get(name), overallStatus(resource)));
    }
    const changes = stateChanges(previousStates, states);
    previousStates = states;
    if (!document.hidden) return;
    for (const { name, failed } of changes) {
      const resource = session.resource(name)?.peek();
      const body = (failed && resource && resourceMessages(resource)[0]?.text.split("\n", 1)[0]) || "";
      // With the same tag, a notification replaces the last one about the resource.
      const shown = new Notification(failed ? `${name} fails` : `${name} works again`, {
        body,
        tag: `lilt-${name}`,
      });
      shown.onclick = () => {
        window.focus();
        navigate({ view: "resource", name });
        shown.close();
      };
    }
  });
}
