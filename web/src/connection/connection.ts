/**
 * The one WebSocket. It comes back by itself: at once when the network or the tab comes back, else after a pause that
 * grows to a few seconds.
 *
 * A connection may be dead without being closed: the session hangs, the machine slept, a tunnel dropped it. A session
 * says something every few seconds, so one that has been silent for longer is given up.
 */

import { signal } from "@preact/signals";
import type { PageMessage, ServerMessage } from "../generated/protocol";
import { webSocketUrl, takeEarlySocket } from "./earlySocket";

export type ConnectionState = "connecting" | "open" | "lost";

export const MIN_RETRY_DELAY = 250;
export const MAX_RETRY_DELAY = 4000;
/** No word for so long means that nobody is there. The session ticks every 5 seconds when it has nothing else to say. */
export const SILENCE_TIMEOUT = 15_000;

/** The pause before the next attempt, after so many that failed. */
export function retryDelay(attempt: number, random: number): number {
  const delay = Math.min(MAX_RETRY_DELAY, MIN_RETRY_DELAY * 2 ** Math.min(attempt, 10));
  // Spread, so that many tabs do not come back in the same moment.
  return delay * (0.75 + random / 2);
}

export class Connection {
  readonly state = signal<ConnectionState>("connecting");
  #socket: WebSocket | undefined;
  #failedAttempts = 0;
  /** Until the next attempt. */
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #lastMessageAt = 0;
  /** The session is one that ticks, so that its silence means something. */
  #sendsTicks = false;

  constructor(
    private readonly onMessage: (message: ServerMessage) => void,
    /** A connection was refused by somebody who may have their reasons. */
    private readonly onRefused: () => void = () => {},
  ) {}

  start(): void {
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.retry();
      // Timers of tabs that are not in sight are late.
      if (this.#watchdog !== undefined) this.#checkSilence();
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
    if (this.#retryTimer === undefined) return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#open();
  }

  #open(): void {
    const early = takeEarlySocket();
    const socket = early?.socket ?? new WebSocket(webSocketUrl(location));
    let receivedMessage = false;
    this.#socket = socket;
    this.#lastMessageAt = Date.now();
    this.#checkSilence();
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as ServerMessage;
      receivedMessage = true;
      this.#lastMessageAt = Date.now();
      // A socket that opens and closes again at once has not succeeded.
      this.#failedAttempts = 0;
      this.state.value = "open";
      if (message.type === "tick") this.#sendsTicks = true;
      else this.onMessage(message);
    };
    socket.onclose = () => {
      this.#drop(socket);
      if (!receivedMessage) this.onRefused();
    };
    for (const event of early?.messages ?? []) socket.onmessage(event);
  }

  /** Gives up what has been silent for too long, else looks again when it would have been. */
  #checkSilence(): void {
    clearTimeout(this.#watchdog);
    const remaining = this.#lastMessageAt + SILENCE_TIMEOUT - Date.now();
    const isConnecting = this.#socket?.readyState === WebSocket.CONNECTING;
    if (remaining <= 0 && this.#socket && (this.#sendsTicks || isConnecting)) this.#drop(this.#socket);
    else this.#watchdog = setTimeout(() => this.#checkSilence(), remaining > 0 ? remaining : SILENCE_TIMEOUT);
  }

  #drop(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    // One that hangs would say goodbye only after minutes.
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
    this.#socket = undefined;
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
    this.state.value = "lost";
    this.#retryTimer = setTimeout(
      () => {
        this.#retryTimer = undefined;
        this.#open();
      },
      retryDelay(this.#failedAttempts++, Math.random()),
    );
  }
}
