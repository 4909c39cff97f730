import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServerMessage } from "../generated/protocol";
import { Connection, MAX_RETRY_DELAY, MIN_RETRY_DELAY, retryDelay, SILENCE_TIMEOUT } from "./connection";
import { openEarlySocket, webSocketUrl } from "./earlySocket";

/** What a browser would open. */
class Socket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = Socket.CONNECTING;
  closed = false;
  sent: string[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly address: string) {
    Socket.all.push(this);
  }

  say(message: unknown): void {
    this.readyState = Socket.OPEN;
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  end(): void {
    this.readyState = 3;
    this.onclose?.();
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.closed = true;
  }
}

const hello = { type: "hello", version: "1", session_id: "a", revision: 0 };
const newest = () => Socket.all.at(-1) as Socket;

beforeEach(() => {
  Socket.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  vi.stubGlobal("location", { protocol: "http:", host: "localhost:10350" });
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("document", { hidden: false, addEventListener: () => {} });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function started(refused = () => {}) {
  const received: ServerMessage[] = [];
  const connection = new Connection((message) => received.push(message), refused);
  connection.start();
  return { connection, received };
}

test("reconnects after a delay, and at once on retry", () => {
  const { connection, received } = started();
  expect(newest().address).toBe("ws://localhost:10350/ws");
  newest().say(hello);
  expect(connection.state.value).toBe("open");
  expect(received).toEqual([hello]);
  expect(connection.send({ type: "unfollow" })).toBe(true);
  newest().end();
  expect(connection.state.value).toBe("lost");
  expect(connection.send({ type: "unfollow" })).toBe(false);
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(Socket.all).toHaveLength(2);
  newest().say(hello);
  expect(connection.state.value).toBe("open");
  newest().end();
  connection.retry();
  expect(Socket.all).toHaveLength(3);
  // One attempt is under way: another one is not begun beside it.
  connection.retry();
  expect(Socket.all).toHaveLength(3);
});

test("drops a silent connection to a session that sends ticks", () => {
  const { connection, received } = started();
  const first = newest();
  first.say(hello);
  first.say({ type: "tick" });
  expect(received).toEqual([hello]);
  vi.advanceTimersByTime(SILENCE_TIMEOUT - 1);
  first.say({ type: "tick" });
  vi.advanceTimersByTime(SILENCE_TIMEOUT - 1);
  expect(connection.state.value).toBe("open");
  vi.advanceTimersByTime(SILENCE_TIMEOUT);
  expect(connection.state.value).toBe("lost");
  expect(first.closed).toBe(true);
  // What it says when it wakes up is no longer heard.
  first.say({ type: "tick" });
  expect(connection.state.value).toBe("lost");
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(newest()).not.toBe(first);
  // Nor is one waited for that does not even open.
  const second = newest();
  vi.advanceTimersByTime(SILENCE_TIMEOUT + MAX_RETRY_DELAY);
  expect(second.closed).toBe(true);
  newest().say(hello);
  expect(connection.state.value).toBe("open");
});

test("keeps a silent connection to a session that sends no ticks", () => {
  const { connection } = started();
  newest().say(hello);
  vi.advanceTimersByTime(10 * SILENCE_TIMEOUT);
  expect(connection.state.value).toBe("open");
  expect(Socket.all).toHaveLength(1);
});

test("calls onRefused when a socket closes before its first message", () => {
  const refused = vi.fn();
  started(refused);
  newest().say(hello);
  newest().end();
  expect(refused).not.toHaveBeenCalled();
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  newest().end();
  expect(refused).toHaveBeenCalledTimes(1);
});

test("takes over the early socket and its messages", () => {
  openEarlySocket();
  newest().say(hello);
  const { connection, received } = started();
  expect(Socket.all).toHaveLength(1);
  expect(received).toEqual([hello]);
  expect(connection.state.value).toBe("open");
  newest().say({ type: "refused", message: "no" });
  expect(received).toHaveLength(2);
  // Only once: what comes after it is opened as ever.
  newest().end();
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(Socket.all).toHaveLength(2);
});

test("opens a new socket when the early one has closed", () => {
  openEarlySocket();
  newest().end();
  started();
  expect(Socket.all).toHaveLength(2);
});

describe("connection", () => {
  test("retry delays grow up to the maximum", () => {
    expect(retryDelay(0, 0.5)).toBe(MIN_RETRY_DELAY);
    expect(retryDelay(1, 0.5)).toBe(2 * MIN_RETRY_DELAY);
    expect(retryDelay(1000, 0.5)).toBe(MAX_RETRY_DELAY);
    expect(retryDelay(0, 0)).toBeGreaterThan(0);
  });

  test("uses a secure WebSocket on a secure page", () => {
    const place = { protocol: "http:", host: "localhost:10350" };
    expect(webSocketUrl(place)).toBe("ws://localhost:10350/ws");
    expect(webSocketUrl({ ...place, protocol: "https:" })).toMatch(/^wss:/);
  });
});
