import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServerMessage } from "../generated/protocol";
import { Connection, MAX_RETRY_DELAY, MIN_RETRY_DELAY, retryDelay, SILENCE_TIMEOUT } from "./connection";
import { openEarlySocket, webSocketUrl } from "./earlySocket";

/** Stands in for the browser's WebSocket. */
class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = FakeSocket.CONNECTING;
  closed = false;
  sent: string[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly address: string) {
    FakeSocket.all.push(this);
  }

  receive(message: unknown): void {
    this.readyState = FakeSocket.OPEN;
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  closeByServer(): void {
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
const lastSocket = () => FakeSocket.all.at(-1) as FakeSocket;

beforeEach(() => {
  FakeSocket.all = [];
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("location", { protocol: "http:", host: "localhost:10350" });
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("document", { hidden: false, addEventListener: () => {} });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function startConnection(onRefused = () => {}) {
  const received: ServerMessage[] = [];
  const connection = new Connection((message) => received.push(message), onRefused);
  connection.start();
  return { connection, received };
}

test("reconnects after a delay, and at once on retry", () => {
  const { connection, received } = startConnection();
  expect(lastSocket().address).toBe("ws://localhost:10350/ws");
  lastSocket().receive(hello);
  expect(connection.state.value).toBe("open");
  expect(received).toEqual([hello]);
  expect(connection.send({ type: "unfollow" })).toBe(true);
  lastSocket().closeByServer();
  expect(connection.state.value).toBe("lost");
  expect(connection.send({ type: "unfollow" })).toBe(false);
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(FakeSocket.all).toHaveLength(2);
  lastSocket().receive(hello);
  expect(connection.state.value).toBe("open");
  lastSocket().closeByServer();
  connection.retry();
  expect(FakeSocket.all).toHaveLength(3);
  // One attempt is in flight: a retry must not start another.
  connection.retry();
  expect(FakeSocket.all).toHaveLength(3);
});

test("drops a silent connection to a session that sends ticks", () => {
  const { connection, received } = startConnection();
  const first = lastSocket();
  first.receive(hello);
  first.receive({ type: "tick" });
  expect(received).toEqual([hello]);
  vi.advanceTimersByTime(SILENCE_TIMEOUT - 1);
  first.receive({ type: "tick" });
  vi.advanceTimersByTime(SILENCE_TIMEOUT - 1);
  expect(connection.state.value).toBe("open");
  vi.advanceTimersByTime(SILENCE_TIMEOUT);
  expect(connection.state.value).toBe("lost");
  expect(first.closed).toBe(true);
  // Messages of a dropped connection are ignored.
  first.receive({ type: "tick" });
  expect(connection.state.value).toBe("lost");
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(lastSocket()).not.toBe(first);
  // A connection that never opens is dropped, too.
  const second = lastSocket();
  vi.advanceTimersByTime(SILENCE_TIMEOUT + MAX_RETRY_DELAY);
  expect(second.closed).toBe(true);
  lastSocket().receive(hello);
  expect(connection.state.value).toBe("open");
});

test("keeps a silent connection to a session that sends no ticks", () => {
  const { connection } = startConnection();
  lastSocket().receive(hello);
  vi.advanceTimersByTime(10 * SILENCE_TIMEOUT);
  expect(connection.state.value).toBe("open");
  expect(FakeSocket.all).toHaveLength(1);
});

test("calls onRefused when a socket closes before its first message", () => {
  const refused = vi.fn();
  startConnection(refused);
  lastSocket().receive(hello);
  lastSocket().closeByServer();
  expect(refused).not.toHaveBeenCalled();
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  lastSocket().closeByServer();
  expect(refused).toHaveBeenCalledTimes(1);
});

test("takes over the early socket and its messages", () => {
  openEarlySocket();
  lastSocket().receive(hello);
  const { connection, received } = startConnection();
  expect(FakeSocket.all).toHaveLength(1);
  expect(received).toEqual([hello]);
  expect(connection.state.value).toBe("open");
  lastSocket().receive({ type: "refused", message: "no" });
  expect(received).toHaveLength(2);
  // The early socket is used once: later ones are opened as usual.
  lastSocket().closeByServer();
  vi.advanceTimersByTime(MAX_RETRY_DELAY);
  expect(FakeSocket.all).toHaveLength(2);
});

test("opens a new socket when the early one has closed", () => {
  openEarlySocket();
  lastSocket().closeByServer();
  startConnection();
  expect(FakeSocket.all).toHaveLength(2);
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
