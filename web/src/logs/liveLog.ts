/** The log of the running session: pages are read over HTTP, new lines arrive over the WebSocket. */

import { signal } from "@preact/signals";
import { fetchOk } from "../connection/http";
import type { LineCount, LogPage, LogSections, PageMessage, ServerMessage } from "../generated/protocol";
import type { LineCounter } from "./matchCounter";
import { RejectedQueryError, type LogSource, type Receive, type PageStart } from "./logWindow";

type LinesMessage = Extract<ServerMessage, { type: "lines" }>;

interface Subscription {
  follow: number;
  query: string;
  /** The line to continue with after a reconnect. */
  next: number;
  receive: Receive;
}

/** Fetches a page of lines or another JSON document. Throws a `RejectedQueryError` for an invalid query. */
async function fetchLogJson<Body>(address: string, abort: AbortSignal | null): Promise<Body> {
  const response = await fetch(address, { signal: abort }).catch((error: unknown) => {
    // The messages of browsers differ and say little.
    throw error instanceof TypeError ? new Error("no connection to lilt") : error;
  });
  if (!response.ok) {
    const message = (await response.text()).trim() || `the session answers ${response.status}`;
    throw response.status === 400 ? new RejectedQueryError(message) : new Error(message);
  }
  return (await response.json()) as Body;
}

export class LiveLog implements LogSource, LineCounter {
  /** The numbers of the oldest stored line and of the next line. */
  readonly extent = signal({ begin: 0, end: 0 });
  /** The id of the session; a new session has a new log. */
  readonly session = signal("");

  #subscription: Subscription | undefined;
  #lastFollowId = 0;

  constructor(private readonly send: (message: PageMessage) => boolean) {}

  page(query: string, way: PageStart, count: number, abort: AbortSignal): Promise<LogPage> {
    const where = "from" in way ? `from=${way.from}` : `before=${way.before}`;
    return fetchLogJson(`/api/lines?${where}&count=${count}${query && `&${query}`}`, abort);
  }

  count(query: string, from: number, until: number | undefined, abort: AbortSignal): Promise<LineCount> {
    const end = until === undefined ? "" : `&until=${until}`;
    return fetchLogJson(`/api/count?from=${from}${end}${query && `&${query}`}`, abort);
  }

  async sections(resource: string): Promise<readonly string[]> {
    return (await fetchLogJson<LogSections>(`/api/sections?resource=${encodeURIComponent(resource)}`, null))
      .sections;
  }

  follow(query: string, from: number, receive: Receive): () => void {
    const subscription = { follow: ++this.#lastFollowId, query, next: from, receive };
    this.#subscription = subscription;
    this.#subscribe(subscription);
    return () => {
      if (this.#subscription !== subscription) return;
      this.#subscription = undefined;
      this.send({ type: "unfollow" });
    };
  }

  receive(message: LinesMessage): void {
    const subscription = this.#subscription;
    if (subscription?.follow !== message.follow) return;
    subscription.next = message.next;
    subscription.receive(message.lines, message.next, message.gap ?? false);
  }

  /** The connection was opened or reopened. */
  onHello(session: string): void {
    if (this.session.peek() !== session) {
      this.#subscription = undefined;
      this.session.value = session;
    } else if (this.#subscription) {
      this.#subscribe(this.#subscription);
    }
  }

  /** Without a connection, `onHello` subscribes again. */
  #subscribe({ follow, query, next }: Subscription): void {
    this.send({ type: "follow", follow, query, from: next });
  }
}

/** Returns query parameters that leave out cleared lines. */
function withClearedBefore(query: string, clearedBefore: number): string {
  return `${clearedBefore > 0 ? `&from=${clearedBefore}` : ""}${query && `&${query}`}`;
}

/** Returns the URL that downloads the log as a text file. */
export function logDownloadUrl(query: string, clearedBefore: number, name: string): string {
  return `/api/logs?format=text&download=${encodeURIComponent(name)}${withClearedBefore(query, clearedBefore)}`;
}

/** Returns the last `lines` matching lines as text. */
export async function fetchLogText(query: string, clearedBefore: number, lines: number): Promise<string> {
  const response = await fetchOk(
    `/api/logs?format=text&tail=${lines}${withClearedBefore(query, clearedBefore)}`,
  );
  return response.text();
}
