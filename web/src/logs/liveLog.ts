/** The session's log, as the page gets it: pages over HTTP, what comes over the WebSocket. */

import { signal } from "@preact/signals";
import { fetchOk } from "../connection/http";
import type { LineCount, LogPage, LogSections, PageMessage, ServerMessage } from "../generated/protocol";
import type { LineCounter } from "./matchCounter";
import { RejectedQueryError, type LogSource, type Receive, type PageStart } from "./logWindow";

type LinesMessage = Extract<ServerMessage, { type: "lines" }>;

interface Subscription {
  follow: number;
  query: string;
  /** Where to go on after a lost connection. */
  next: number;
  receive: Receive;
}

/** A page of lines that one has asked for, or why not. */
async function fetchLogJson<Body>(address: string, abort: AbortSignal | null): Promise<Body> {
  const response = await fetch(address, { signal: abort }).catch((error: unknown) => {
    // Browsers have no good word for it.
    throw error instanceof TypeError ? new Error("no connection to lilt") : error;
  });
  if (!response.ok) {
    const message = (await response.text()).trim() || `the session answers ${response.status}`;
    throw response.status === 400 ? new RejectedQueryError(message) : new Error(message);
  }
  return (await response.json()) as Body;
}

export class LiveLog implements LogSource, LineCounter {
  /** Of which lines there are: from the oldest that is kept to the number that the next one gets. */
  readonly extent = signal({ begin: 0, end: 0 });
  /** Changes when the log is another one: what was known of it means nothing any more. */
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

  /** A connection is there, for the first time or again. */
  onHello(session: string): void {
    if (this.session.peek() !== session) {
      this.#subscription = undefined;
      this.session.value = session;
    } else if (this.#subscription) {
      this.#subscribe(this.#subscription);
    }
  }

  /** When there is no connection, it is asked for as soon as there is one. */
  #subscribe({ follow, query, next }: Subscription): void {
    this.send({ type: "follow", follow, query, from: next });
  }
}

/** A question that leaves out lines before this number, which were cleared away. */
function withClearedBefore(query: string, floor: number): string {
  return `${floor > 0 ? `&from=${floor}` : ""}${query && `&${query}`}`;
}

/** Where a browser gets the lines as a file of text. */
export function logDownloadUrl(query: string, floor: number, name: string): string {
  return `/api/logs?format=text&download=${encodeURIComponent(name)}${withClearedBefore(query, floor)}`;
}

/** The last of the wanted lines as text. */
export async function fetchLogText(query: string, floor: number, lines: number): Promise<string> {
  const response = await fetchOk(`/api/logs?format=text&tail=${lines}${withClearedBefore(query, floor)}`);
  return response.text();
}
