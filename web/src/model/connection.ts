/**
 * The one WebSocket. It comes back by itself: at once when the network or the tab comes back, else after a pause that
 * grows to a few seconds.
 */

import { signal } from "@preact/signals";
import type { PageMessage, ServerMessage } from "../generated/protocol";

export type ConnectionState = "connecting" | "open" | "lost";

export const SHORTEST_PAUSE = 250;
export const LONGEST_PAUSE = 4000;

/** The pause before the next attempt, after so many that failed. */
export function pause(attempt: number, random: number): number {
  const grown = Math.min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** Math.min(attempt, 10));
  // Spread, so that many tabs do not come back in the same moment.
  return grown * (0.75 + random / 2);
}

export function address(location: Pick<Location, "protocol" | "host">): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/ws`;
}

export class Connection {
  readonly state = signal<ConnectionState>("connecting");
  #socket: WebSocket | undefined;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly receive: (message: ServerMessage) => void) {}

  start(): void {
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.retry();
    });
    this.#open();
  }

  /** False when there is nobody to send to. */
  send(message: PageMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
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
    const socket = new WebSocket(address(location));
    this.#socket = socket;
    socket.onmessage = (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as ServerMessage;
      // A socket that opens and closes again at once has not succeeded.
      this.#attempt = 0;
      this.state.value = "open";
      this.receive(message);
    };
    socket.onclose = () => {
      this.state.value = "lost";
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          this.#open();
        },
        pause(this.#attempt++, Math.random()),
      );
    };
  }
}
