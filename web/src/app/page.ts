/** The page's one session, log and connection, and what a reader can ask of them. */

import { computed, effect, signal } from "@preact/signals";
import type { Request, ServerMessage } from "../generated/protocol";
import { LiveLog } from "../logs/liveLog";
import { askAccess, type AccessRefusal } from "../connection/accessCheck";
import { Connection } from "../connection/connection";
import { Buttons } from "../model/buttonStore";
import { readListing, writeListing } from "../model/listSettings";
import { toggleNotifications } from "../model/notifications";
import { readPanel } from "../model/resourcePanel";
import { route, type Route } from "../model/route";
import { putSearch } from "../model/queryString";
import { Session } from "../model/session";
import { openStars } from "../model/stars";
import { isDisabled } from "../model/status";
import { freezeClock } from "../model/time";

export const session = new Session();
export const buttons = new Buttons();

/** Of lilt; empty until the server said hello. */
export const version = signal("");
/** When the snapshot was made that is shown; undefined: a session that runs. */
export const snapshot = signal<string | undefined>(undefined);
/** Short notices for the reader, newest last. */
export const notices = signal<readonly Notice[]>([]);

/** Counts what the session refused: it does not say which of the questions that was. */
export const refusals = signal(0);

export interface Notice {
  id: number;
  text: string;
}

let noticeId = 0;

function receive(message: ServerMessage): void {
  switch (message.type) {
    case "hello":
      refusal.value = undefined;
      if (version.peek() !== "" && version.peek() !== message.version) {
        // Another lilt has its own page.
        location.reload();
        return;
      }
      version.value = message.version;
      snapshot.value = message.snapshot;
      if (message.snapshot !== undefined) freezeClock(message.snapshot);
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
      refusals.value++;
      notify(message.message);
      break;
  }
}

/** Why lilt refuses what this page sends; undefined: it does not. */
export const refusal = signal<AccessRefusal | undefined>(undefined);

/** Finds out why the WebSocket was refused. Shows the sign-in page if the session's token is another one now. */
async function examineRefusal(): Promise<void> {
  const found = await askAccess();
  if (found === "sign in") location.reload();
  else refusal.value = found;
}

export const connection = new Connection(receive, () => void examineRefusal());
export const log = new LiveLog((message) => connection.send(message));

export function notify(text: string): void {
  const id = ++noticeId;
  notices.value = [...notices.peek(), { id, text }];
  setTimeout(() => dismiss(id), 6000);
}

export function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

export async function notifyMe(): Promise<void> {
  if (!(await toggleNotifications())) notify("This browser does not let the page notify you");
}

/** Asks the session for something; says so if it cannot be asked. */
export function ask(request: Request, otherwise: string): void {
  if (snapshot.peek() !== undefined) {
    notify(`${otherwise}: this is a snapshot`);
    return;
  }
  if (!connection.send({ type: "ask", request })) notify(`${otherwise}: no connection to lilt`);
}

/** Tilt's flag for a trigger from its page, in `build_reason`. */
const TRIGGERED_IN_PAGE = 16;

export function trigger(resource: string): void {
  const known = session.resource(resource)?.peek();
  if (known && isDisabled(known)) {
    notify(`${resource} is disabled: enable it first`);
    return;
  }
  ask({ type: "trigger", resource, reason: TRIGGERED_IN_PAGE }, `${resource} was not triggered`);
}

export function cancel(resource: string): void {
  ask({ type: "cancel", resource }, `the update of ${resource} goes on`);
}

export function setManual(resources: readonly string[], manual: boolean): void {
  const mode = manual ? "manual" : "auto";
  ask(
    { type: "set_trigger_mode", resources: [...resources], mode },
    `${resources.join(", ")} stays as it is`,
  );
}

export function setEnabled(resources: readonly string[], enabled: boolean): void {
  const [enable, disable] = enabled ? [[...resources], []] : [[], [...resources]];
  ask({ type: "switch", enable, disable }, `${resources.join(", ")} stays as it is`);
}

/** Makes lilt probe everything that is unreachable now. */
export function reconnect(): void {
  ask({ type: "reconnect" }, "lilt did not reconnect");
}

/** The name of the folder that the Tiltfile is in. */
export const project = computed(() => {
  const parts = (session.session.value?.status.tiltfileKey ?? "").split("/");
  return parts.at(-2) ?? "";
});

effect(() => openStars(project.value));

/** What an address that was entered says about what to show. A log reads its own part. */
export function arrived(to: Route, query: string): void {
  if (to.view === "overview") readListing(query);
  if (to.view === "resource") readPanel(query);
}

/** Typing changes the address only when it pauses. */
const PAUSE = 150;

/** What is shown is in the address, so that it can be sent to somebody. */
export function startAddress(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    clearTimeout(timer);
    if (route.value.view !== "overview") return;
    const said = writeListing();
    timer = setTimeout(() => putSearch(said), PAUSE);
  });
}

/** The tab tells the state too, in its title and its icon. */
export function startTab(): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  // The browser fetches and draws an icon that is put there, also the same one again.
  let shown = "ok";
  effect(() => {
    const { error, busy, starting } = session.counts.value;
    const lost = connection.state.value === "lost";
    const warned = lost || (error === 0 && session.unreachable.value.length > 0);
    const state = warned ? "lost" : error > 0 ? "error" : busy + starting > 0 ? "busy" : "ok";
    // What is shown may be true no longer.
    document.body.classList.toggle("stale", lost);
    const words = { lost: "⚠ ", error: `✗${error} `, busy: "… ", ok: "" };
    document.title =
      words[state] + [viewName(route.value), project.value, "lilt"].filter(Boolean).join(" · ");
    if (state === shown) return;
    shown = state;
    icon?.setAttribute("href", state === "ok" ? "/favicon.svg" : badge(state));
  });
}

/** The overview is what goes without saying. */
function viewName(shown: Route): string {
  if (shown.view === "resource") return shown.name;
  const names = { overview: "", logs: "All logs", starred: "Starred logs" };
  return names[shown.view];
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
