/**
 * The first WebSocket, opened before the rest of the page is loaded, so that the session's first messages arrive
 * meanwhile. This module imports nothing, to stay small. [`Connection`] takes the socket over.
 */

export interface EarlySocket {
  socket: WebSocket;
  /** The messages that arrived before the socket was taken over. */
  messages: MessageEvent<string>[];
}

let earlySocket: EarlySocket | undefined;

export function webSocketUrl(location: Pick<Location, "protocol" | "host">): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/ws`;
}

/** How long the page waits for the first messages before it renders without them. In milliseconds. */
const FIRST_MESSAGES_TIMEOUT = 150;

/** The `hello` message and the state of all resources. */
const FIRST_MESSAGES = 2;

/**
 * Opens the socket. Resolves when the first messages have arrived, or at the timeout.
 *
 * The page must not start to render before: while its main thread is busy, the many frames of a long message are not
 * read.
 */
export function openEarlySocket(): Promise<void> {
  const socket = new WebSocket(webSocketUrl(location));
  const messages: MessageEvent<string>[] = [];
  earlySocket = { socket, messages };
  return new Promise((resolve) => {
    socket.onmessage = (event: MessageEvent<string>) => {
      if (messages.push(event) >= FIRST_MESSAGES) resolve();
    };
    socket.onclose = () => resolve();
    setTimeout(resolve, FIRST_MESSAGES_TIMEOUT);
  });
}

/** Returns the early socket, once; undefined if there is none or it has closed. */
export function takeEarlySocket(): EarlySocket | undefined {
  const taken = earlySocket;
  earlySocket = undefined;
  return taken && taken.socket.readyState <= WebSocket.OPEN ? taken : undefined;
}
