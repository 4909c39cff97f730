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

/** So long the page waits for a session that says nothing. In milliseconds. */
const PATIENCE = 150;

/** The greeting, and how all resources are. */
const FIRST_WORDS = 2;

/**
 * Resolved when the first words are there, or it takes too long. A long message comes in many pieces, each of which the
 * page has to take: as long as it is busy with itself, nothing comes.
 */
export function openEarly(): Promise<void> {
  const socket = new WebSocket(address(location));
  const messages: MessageEvent<string>[] = [];
  early = { socket, messages };
  return new Promise((done) => {
    socket.onmessage = (event: MessageEvent<string>) => {
      if (messages.push(event) >= FIRST_WORDS) done();
    };
    socket.onclose = () => done();
    setTimeout(done, PATIENCE);
  });
}

/** Once; undefined if there is none that lives. */
export function takeEarly(): Early | undefined {
  const taken = early;
  early = undefined;
  return taken && taken.socket.readyState <= WebSocket.OPEN ? taken : undefined;
}
