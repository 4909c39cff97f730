/**
 * The first WebSocket, opened before the rest of the page has arrived: what the session says first is on its way
 * meanwhile. It imports nothing, so that it is small. [`Connection`] takes it over.
 */

export interface Early {
  socket: WebSocket;
  /** What has been said already. */
  messages: MessageEvent<string>[];
}

let early: Early | undefined;

export function address(location: Pick<Location, "protocol" | "host">): string {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${location.host}/ws`;
}

export function openEarly(): void {
  const socket = new WebSocket(address(location));
  const messages: MessageEvent<string>[] = [];
  socket.onmessage = (event: MessageEvent<string>) => messages.push(event);
  early = { socket, messages };
}

/** Once; undefined if there is none that lives. */
export function takeEarly(): Early | undefined {
  const taken = early;
  early = undefined;
  return taken && taken.socket.readyState <= WebSocket.OPEN ? taken : undefined;
}
