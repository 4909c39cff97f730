/**
 * The one WebSocket. It comes back by itself: at once when the network or the tab comes back, else after a pause that
 * grows to a few seconds.
 *
 * A connection may be dead without being closed: the session hangs, the machine slept, a tunnel dropped it. A session
 * says something every few seconds, so one that has been silent for longer is given up.
 */

import { signal } from "@preact/signals";
import type { PageMessage, ServerMessage } from "../generated/protocol";
import { address, takeEarly } from "./earlySocket";

export type ConnectionState = "connecting" | "open" | "lost";

export const SHORTEST_PAUSE = 250;
export const LONGEST_PAUSE = 4000;
/** No word for so long means that nobody is there. The session ticks every 5 seconds when it has nothing else to say. */
export const LONGEST_SILENCE = 15_000;

/** The pause before the next attempt, after so many that failed. */
export function pause(attempt: number, random: number): number {
  const grown = Math.min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** Math.min(attempt, 10));
  // Spread, so that many tabs do not come back in the same moment.
  return grown * (0.75 + random / 2);
}

export class Connection {
  readonly state = signal<ConnectionState>("connecting");
  #socket: WebSocket | undefined;
  #attempt = 0;
  /** Until the next attempt. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #heard = 0;
  /** The session is one that ticks, so that its silence means something. */
  #ticks = false;

  constructor(
    private readonly receive: (message: ServerMessage) => void,
    /** A connection was refused by somebody who may have their reasons. */
    private readonly refused: () => void = () => {},
  ) {}

  start(): void {
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.retry();
      // Timers of tabs that are not in sight are late.
      if (this.#watchdog !== undefined) this.#look();
    });
    this.#open();
  }

  /** False when there is nobody to send to. */
  send(message: PageMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN || this.state.peek() === "lost") return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Now, if it is waiting for the next attempt. */
  retry(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#open();
  }

  #open(): void {
    const early = takeEarly();
    const socket = early?.socket ?? new WebSocket(address(location));
    let greeted = false;
    this.#socket = socket;
    this.#heard = Date.now();
    this.#look();
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as ServerMessage;
      greeted = true;
      this.#heard = Date.now();
      // A socket that opens and closes again at once has not succeeded.
      this.#attempt = 0;
      this.state.value = "open";
      if (message.type === "tick") this.#ticks = true;
      else this.receive(message);
    };
    socket.onclose = () => {
      this.#lose(socket);
      if (!greeted) this.refused();
    };
    for (const event of early?.messages ?? []) socket.onmessage(event);
  }

  /** Gives up what has been silent for too long, else looks again when it would have been. */
  #look(): void {
    clearTimeout(this.#watchdog);
    const rest = this.#heard + LONGEST_SILENCE - Date.now();
    const opening = this.#socket?.readyState === WebSocket.CONNECTING;
    if (rest <= 0 && this.#socket && (this.#ticks || opening)) this.#lose(this.#socket);
    else this.#watchdog = setTimeout(() => this.#look(), rest > 0 ? rest : LONGEST_SILENCE);
  }

  #lose(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    // One that hangs would say goodbye only after minutes.
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
    this.#socket = undefined;
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
    this.state.value = "lost";
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#open();
      },
      pause(this.#attempt++, Math.random()),
    );
  }
}
