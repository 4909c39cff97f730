/**
 * The page's one WebSocket. It reconnects at once when the network or the tab returns, otherwise after a delay that
 * grows to a few seconds.
 *
 * A connection may be dead without being closed: the session hangs, the machine slept, a tunnel dropped it. A session
 * sends something every few seconds, so a connection that stays silent for longer is dropped.
 */

import { signal } from "@preact/signals";
import type { PageMessage, ServerMessage } from "../generated/protocol";
import { webSocketUrl, takeEarlySocket } from "./earlySocket";

export type ConnectionState = "connecting" | "open" | "lost";

export const MIN_RETRY_DELAY = 250;
export const MAX_RETRY_DELAY = 4000;
/** A connection that is silent for this long is dead: an idle session sends a `tick` every 5 seconds. */
export const SILENCE_TIMEOUT = 15_000;

/** Returns the delay before the next attempt to connect, in milliseconds, after a number of failed attempts. */
export function retryDelay(attempt: number, random: number): number {
  const delay = Math.min(MAX_RETRY_DELAY, MIN_RETRY_DELAY * 2 ** Math.min(attempt, 10));
  // Jitter, so that many tabs do not reconnect at the same moment.
  return delay * (0.75 + random / 2);
}

export class Connection {
  readonly state = signal<ConnectionState>("connecting");
  #socket: WebSocket | undefined;
  #failedAttempts = 0;
  /** Runs until the next attempt to connect. */
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #lastMessageAt = 0;
  /** The session sends ticks, so that its silence means something. */
  #sendsTicks = false;

  constructor(
    private readonly onMessage: (message: ServerMessage) => void,
    /** Called when a connection closes before its first message: the session may refuse this page. */
    private readonly onRefused: () => void = () => {},
  ) {}

  start(): void {
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.retry();
      // Timers of hidden tabs fire late.
      if (this.#watchdog !== undefined) this.#checkSilence();
    });
    this.#open();
  }

  /** Sends a message. Returns false without a connection. */
  send(message: PageMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN || this.state.peek() === "lost") return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Reconnects now, if it is waiting for the next attempt. */
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
      // Reset only now: a socket that opens and closes again at once has failed.
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

  /** Drops a connection that has been silent for too long, otherwise checks again when it would have been. */
  #checkSilence(): void {
    clearTimeout(this.#watchdog);
    const remaining = this.#lastMessageAt + SILENCE_TIMEOUT - Date.now();
    const isConnecting = this.#socket?.readyState === WebSocket.CONNECTING;
    if (remaining <= 0 && this.#socket && (this.#sendsTicks || isConnecting)) this.#drop(this.#socket);
    else this.#watchdog = setTimeout(() => this.#checkSilence(), remaining > 0 ? remaining : SILENCE_TIMEOUT);
  }

  #drop(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    // The close event of a hanging connection may arrive minutes later.
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
