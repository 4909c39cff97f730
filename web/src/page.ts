/** The page's one session, log and connection, and what a reader can ask of them. */

import { computed, effect, signal } from "@preact/signals";
import type { Request, ServerMessage } from "./generated/protocol";
import { LiveLog } from "./logs/source";
import { Connection } from "./model/connection";
import { Buttons } from "./model/buttons";
import { Session } from "./model/session";
import { openStars } from "./model/stars";
import type { Overall } from "./model/status";

export const session = new Session();
export const buttons = new Buttons();

/** Of lilt; empty until the server said hello. */
export const version = signal("");
/** When the snapshot was made that is shown; undefined: a session that runs. */
export const snapshot = signal<string | undefined>(undefined);
/** Short notices for the reader, newest last. */
export const notices = signal<readonly Notice[]>([]);
/** Shown in the overview; undefined: all. */
export const stateFilter = signal<Overall | undefined>(undefined);
export const nameFilter = signal("");
export interface Notice {
  id: number;
  text: string;
}

let noticeId = 0;

function receive(message: ServerMessage): void {
  switch (message.type) {
    case "hello":
      if (version.peek() !== "" && version.peek() !== message.version) {
        // Another lilt has its own page.
        location.reload();
        return;
      }
      version.value = message.version;
      snapshot.value = message.snapshot;
      log.greeted(message.session_id);
      break;
    case "state":
      session.apply(message);
      break;
    case "lines":
      log.receive(message);
      break;
    case "log":
      log.extent.value = { begin: message.begin, end: message.end };
      break;
    case "buttons":
      buttons.apply(message);
      break;
    case "refused":
      notify(message.message);
      break;
  }
}

export const connection = new Connection(receive);
export const log = new LiveLog((message) => connection.send(message));

export function notify(text: string): void {
  const id = ++noticeId;
  notices.value = [...notices.peek(), { id, text }];
  setTimeout(() => dismiss(id), 6000);
}

export function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

/** Asks the session for something; says so if it cannot be asked. */
export function ask(request: Request, otherwise: string): void {
  if (snapshot.peek() !== undefined) {
    notify(`${otherwise}: this is a snapshot`);
    return;
  }
  if (!connection.send({ type: "ask", request })) notify(`${otherwise}: no connection to lilt`);
}

export function trigger(resource: string): void {
  ask({ type: "trigger", resource }, `${resource} was not triggered`);
}

export function cancel(resource: string): void {
  ask({ type: "cancel", resource }, `the update of ${resource} goes on`);
}

export function setManual(resource: string, manual: boolean): void {
  const mode = manual ? "manual" : "auto";
  ask({ type: "set_trigger_mode", resources: [resource], mode }, `${resource} stays as it is`);
}

export function setEnabled(resources: readonly string[], enabled: boolean): void {
  const [enable, disable] = enabled ? [[...resources], []] : [[], [...resources]];
  ask({ type: "switch", enable, disable }, `${resources.join(", ")} stays as it is`);
}

/** The name of the folder that the Tiltfile is in. */
export const project = computed(() => {
  const parts = (session.session.value?.status.tiltfileKey ?? "").split("/");
  return parts.at(-2) ?? "";
});

effect(() => openStars(project.value));

/** The tab tells the state too, in its title and its icon. */
export function startTab(): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  effect(() => {
    const { error, busy } = session.counts.value;
    const lost = connection.state.value === "lost";
    const state = lost ? "lost" : error > 0 ? "error" : busy > 0 ? "busy" : "ok";
    const words = { lost: "⚠ ", error: `✗${error} `, busy: "… ", ok: "" };
    document.title = `${words[state]}${project.value || "lilt"}${project.value ? " · lilt" : ""}`;
    icon?.setAttribute("href", state === "ok" ? "/favicon.svg" : badge(state));
  });
}

function badge(state: "lost" | "error" | "busy"): string {
  const signs = {
    error:
      '<circle cx="11.5" cy="11.5" r="4.5" fill="#e5484d"/><path d="M10 10l3 3m0-3l-3 3" stroke="#fff" stroke-width="1.3"/>',
    busy: '<circle cx="11.5" cy="11.5" r="4.5" fill="#fff"/><circle cx="11.5" cy="11.5" r="3" fill="none" stroke="#2563eb" stroke-width="1.6" stroke-dasharray="12 6"/>',
    lost: '<circle cx="11.5" cy="11.5" r="4.5" fill="#d97706"/><path d="M11.5 9v3.2m0 1.2v1" stroke="#fff" stroke-width="1.3"/>',
  };
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4454c4"/><path d="M5.2 3.5v9M8.4 7.2v5.3M11.4 5v7.5" stroke="#fff" stroke-width="1.7" stroke-linecap="round"/>${signs[state]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
