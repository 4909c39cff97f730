/**
 * The first WebSocket, opened before the rest of the page has arrived: what the session says first is on its way
 * meanwhile. It imports nothing, so that it is small. [`Connection`] takes it over.
 */

export interface EarlySocket {
  socket: WebSocket;
  /** What has been said already. */
  messages: MessageEvent<string>[];
}

let earlySocket: EarlySocket | undefined;

export function webSocketUrl(location: Pick<Location, "protocol" | "host">): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/ws`;
}

/** So long the page waits for a session that says nothing. In milliseconds. */
const FIRST_MESSAGES_TIMEOUT = 150;

/** The greeting, and how all resources are. */
const FIRST_MESSAGES = 2;

/**
 * Resolved when the first words are there, or it takes too long. A long message comes in many pieces, each of which the
 * page has to take: as long as it is busy with itself, nothing comes.
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

/** Once; undefined if there is none that lives. */
export function takeEarlySocket(): EarlySocket | undefined {
  const taken = earlySocket;
  earlySocket = undefined;
  return taken && taken.socket.readyState <= WebSocket.OPEN ? taken : undefined;
}
