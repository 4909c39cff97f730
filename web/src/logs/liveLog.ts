/** The session's log, as the page gets it: pages over HTTP, what comes over the WebSocket. */

import { signal } from "@preact/signals";
import type { LineCount, LogPage, LogSections, PageMessage, ServerMessage } from "../generated/protocol";
import type { Counter } from "./matchCounter";
import { Refusal, type LogSource, type Receive, type Way } from "./logWindow";

type LinesMessage = Extract<ServerMessage, { type: "lines" }>;

interface Following {
  follow: number;
  query: string;
  /** Where to go on after a lost connection. */
  next: number;
  receive: Receive;
}

/** A page of lines that one has asked for, or why not. */
async function get<Answer>(address: string, abort: AbortSignal | null): Promise<Answer> {
  const response = await fetch(address, { signal: abort }).catch((error: unknown) => {
    // Browsers have no good word for it.
    throw error instanceof TypeError ? new Error("no connection to lilt") : error;
  });
  if (!response.ok) {
    const words = (await response.text()).trim() || `the session answers ${response.status}`;
    throw response.status === 400 ? new Refusal(words) : new Error(words);
  }
  return (await response.json()) as Answer;
}

export class LiveLog implements LogSource, Counter {
  /** Of which lines there are: from the oldest that is kept to the number that the next one gets. */
  readonly extent = signal({ begin: 0, end: 0 });
  /** Changes when the log is another one: what was known of it means nothing any more. */
  readonly session = signal("");

  #following: Following | undefined;
  #count = 0;

  constructor(private readonly send: (message: PageMessage) => boolean) {}

  page(query: string, way: Way, count: number, abort: AbortSignal): Promise<LogPage> {
    const where = "from" in way ? `from=${way.from}` : `before=${way.before}`;
    return get(`/api/lines?${where}&count=${count}${query && `&${query}`}`, abort);
  }

  count(query: string, from: number, until: number | undefined, abort: AbortSignal): Promise<LineCount> {
    const end = until === undefined ? "" : `&until=${until}`;
    return get(`/api/count?from=${from}${end}${query && `&${query}`}`, abort);
  }

  async sections(resource: string): Promise<readonly string[]> {
    return (await get<LogSections>(`/api/sections?resource=${encodeURIComponent(resource)}`, null)).sections;
  }

  follow(query: string, from: number, receive: Receive): () => void {
    const following = { follow: ++this.#count, query, next: from, receive };
    this.#following = following;
    this.#ask(following);
    return () => {
      if (this.#following !== following) return;
      this.#following = undefined;
      this.send({ type: "unfollow" });
    };
  }

  receive(message: LinesMessage): void {
    const following = this.#following;
    if (following?.follow !== message.follow) return;
    following.next = message.next;
    following.receive(message.lines, message.next, message.gap ?? false);
  }

  /** A connection is there, for the first time or again. */
  greeted(session: string): void {
    if (this.session.peek() !== session) {
      this.#following = undefined;
      this.session.value = session;
    } else if (this.#following) {
      this.#ask(this.#following);
    }
  }

  /** When there is no connection, it is asked for as soon as there is one. */
  #ask({ follow, query, next }: Following): void {
    this.send({ type: "follow", follow, query, from: next });
  }
}

/** A question that leaves out lines before this number, which were cleared away. */
function since(query: string, floor: number): string {
  return `${floor > 0 ? `&from=${floor}` : ""}${query && `&${query}`}`;
}

/** Where a browser gets the lines as a file of text. */
export function downloadAddress(query: string, floor: number, name: string): string {
  return `/api/logs?format=text&download=${encodeURIComponent(name)}${since(query, floor)}`;
}

/** The last of the wanted lines as text. */
export async function textOf(query: string, floor: number, lines: number): Promise<string> {
  const response = await fetch(`/api/logs?format=text&tail=${lines}${since(query, floor)}`);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.text();
}
