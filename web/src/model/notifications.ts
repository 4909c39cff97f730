/** Notifications of the system, for those who want them: what fails, and what works again. */

import { effect, signal } from "@preact/signals";
import { loadSetting, saveSetting } from "./savedSettings";
import { navigate } from "./route";
import type { Session } from "./session";
import { resourceMessages, overallStatus, type OverallStatus } from "./status";

export const notificationsEnabled = signal(
  loadSetting("notify", false) && "Notification" in globalThis && Notification.permission === "granted",
);

/** Asks the browser, which asks the reader. False: not allowed. */
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
  /** Else it works again. */
  failed: boolean;
}

/** What turned bad or good between two looks. What was not known before is no news, unless it is bad. */
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

/** An update that runs again says nothing yet: a resource stays bad until it is good. */
export function keepErrorUntilOk(before: OverallStatus | undefined, now: OverallStatus): OverallStatus {
  return before === "error" && (now === "busy" || now === "starting" || now === "waiting") ? "error" : now;
}

export function startNotifications(session: Session): void {
  let previousStates: ReadonlyMap<string, OverallStatus> = new Map();
  effect(() => {
    // Who does not want them need not pay for them: a look at a thousand resources with every change.
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
      // The same tag: the newest word about a resource replaces the last one.
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
