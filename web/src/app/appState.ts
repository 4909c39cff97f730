/** The state of the page: its session, log and connection, shared by all components. */

import { computed, effect, signal } from "@preact/signals";
import { checkAccess, type AccessRefusal } from "../connection/accessCheck";
import { Connection } from "../connection/connection";
import type { ServerMessage } from "../generated/protocol";
import { LiveLog } from "../logs/liveLog";
import { ButtonStore } from "../model/buttonStore";
import { Session } from "../model/session";
import { loadStars } from "../model/stars";
import { freezeClock } from "../model/time";

export const session = new Session();
export const buttons = new ButtonStore();

/** The version of lilt; empty until the server's `hello` message arrives. */
export const liltVersion = signal("");
/** When the shown snapshot was taken; undefined for a running session. */
export const snapshotTime = signal<string | undefined>(undefined);

/** Counts the requests that the session refused: the refusal does not say which request it answers. */
export const refusedRequests = signal(0);

/** Why lilt refuses this page's WebSocket; undefined while it does not. */
export const accessRefusal = signal<AccessRefusal | undefined>(undefined);

export const connection = new Connection(handleMessage, () => void explainRefusal());
export const liveLog = new LiveLog((message) => connection.send(message));

/** The name of the folder that contains the Tiltfile. */
export const projectName = computed(() => {
  const parts = (session.session.value?.status.tiltfileKey ?? "").split("/");
  return parts.at(-2) ?? "";
});

effect(() => loadStars(projectName.value));

export interface Toast {
  id: number;
  text: string;
}

/** Short notifications over the page, newest last. */
export const toasts = signal<readonly Toast[]>([]);

const TOAST_DURATION = 6000;

let lastToastId = 0;

export function showToast(text: string): void {
  const id = ++lastToastId;
  toasts.value = [...toasts.peek(), { id, text }];
  setTimeout(() => dismissToast(id), TOAST_DURATION);
}

export function dismissToast(id: number): void {
  toasts.value = toasts.peek().filter((toast) => toast.id !== id);
}

function handleMessage(message: ServerMessage): void {
  switch (message.type) {
    case "hello":
      accessRefusal.value = undefined;
      if (liltVersion.peek() !== "" && liltVersion.peek() !== message.version) {
        // Another version of lilt serves another version of the page.
        location.reload();
        return;
      }
      liltVersion.value = message.version;
      snapshotTime.value = message.snapshot;
      if (message.snapshot !== undefined) freezeClock(message.snapshot);
      liveLog.onHello(message.session_id);
      break;
    case "state":
      session.apply(message);
      break;
    case "lines":
      liveLog.receive(message);
      break;
    case "log":
      liveLog.extent.value = { begin: message.begin, end: message.end };
      break;
    case "buttons":
      buttons.apply(message);
      break;
    case "refused":
      refusedRequests.value++;
      showToast(message.message);
      break;
  }
}

/** Finds out why the WebSocket was refused. Shows the sign-in page if the session's token has changed. */
async function explainRefusal(): Promise<void> {
  const result = await checkAccess();
  if (result === "sign in") location.reload();
  else accessRefusal.value = result;
}
