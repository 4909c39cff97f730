/** Notifications of the system, for those who want them: what fails, and what works again. */

import { effect, signal } from "@preact/signals";
import { recall, remember } from "./savedSettings";
import { go } from "./route";
import type { Session } from "./session";
import { messages, overall, type Overall } from "./status";

export const notifying = signal(
  recall("notify", false) && "Notification" in globalThis && Notification.permission === "granted",
);

/** Asks the browser, which asks the reader. False: not allowed. */
export async function toggleNotifications(): Promise<boolean> {
  if (notifying.peek()) {
    notifying.value = false;
  } else {
    if (!("Notification" in globalThis)) return false;
    notifying.value = (await Notification.requestPermission()) === "granted";
    if (!notifying.peek()) return false;
  }
  remember("notify", notifying.peek());
  return true;
}

export interface Turn {
  name: string;
  /** Else it works again. */
  failed: boolean;
}

/** What turned bad or good between two looks. What was not known before is no news, unless it is bad. */
export function turns(before: ReadonlyMap<string, Overall>, now: ReadonlyMap<string, Overall>): Turn[] {
  const found: Turn[] = [];
  for (const [name, state] of now) {
    const was = before.get(name);
    if (state === "error" && was !== undefined && was !== "error") found.push({ name, failed: true });
    if (state === "ok" && was === "error") found.push({ name, failed: false });
  }
  return found;
}

/** An update that runs again says nothing yet: a resource stays bad until it is good. */
export function settle(before: Overall | undefined, now: Overall): Overall {
  return before === "error" && (now === "busy" || now === "starting" || now === "waiting") ? "error" : now;
}

export function startNotifications(session: Session): void {
  let known: ReadonlyMap<string, Overall> = new Map();
  effect(() => {
    // Who does not want them need not pay for them: a look at a thousand resources with every change.
    if (!notifying.value) {
      known = new Map();
      return;
    }
    const now = new Map<string, Overall>();
    for (const name of session.names.value) {
      const resource = session.resource(name)?.value;
      if (resource) now.set(name, settle(known.get(name), overall(resource)));
    }
    const news = turns(known, now);
    known = now;
    if (!document.hidden) return;
    for (const { name, failed } of news) {
      const resource = session.resource(name)?.peek();
      const body = (failed && resource && messages(resource)[0]?.text.split("\n", 1)[0]) || "";
      // The same tag: the newest word about a resource replaces the last one.
      const shown = new Notification(failed ? `${name} fails` : `${name} works again`, {
        body,
        tag: `lilt-${name}`,
      });
      shown.onclick = () => {
        window.focus();
        go({ view: "resource", name });
        shown.close();
      };
    }
  });
}
