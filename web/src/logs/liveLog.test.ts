import { afterEach, describe, expect, test, vi } from "vitest";
import type { Line, PageMessage } from "../generated/protocol";
import { LiveLog, logDownloadUrl } from "./liveLog";

test("download URLs leave out cleared lines", () => {
  expect(logDownloadUrl("text=a", 0, "a b")).toBe("/api/logs?format=text&download=a%20b&text=a");
  expect(logDownloadUrl("", 12, "all.log")).toBe("/api/logs?format=text&download=all.log&from=12");
});

describe("live log", () => {
  afterEach(() => vi.unstubAllGlobals());

  test("continues with the next line after a reconnect", () => {
    const sent: PageMessage[] = [];
    let isConnected = true;
    const log = new LiveLog((message) => {
      if (isConnected) sent.push(message);
      return isConnected;
    });
    log.onHello("a");
    const received: number[] = [];
    const unfollow = log.follow("text=x", 7, (lines) => received.push(...lines.map(({ seq }) => seq)));
    expect(sent).toEqual([{ type: "follow", follow: 1, query: "text=x", from: 7 }]);
    const lines = [{ seq: 8 } as Line];
    log.receive({ type: "lines", follow: 1, lines, next: 9 });
    // Belongs to an earlier subscription.
    log.receive({ type: "lines", follow: 0, lines, next: 99 });
    expect(received).toEqual([8]);
    isConnected = false;
    isConnected = true;
    log.onHello("a");
    expect(sent.at(-1)).toEqual({ type: "follow", follow: 1, query: "text=x", from: 9 });
    unfollow();
    expect(sent.at(-1)).toEqual({ type: "unfollow" });
    // Another session does not know the subscription.
    const before = sent.length;
    log.follow("", 0, () => {});
    log.onHello("b");
    expect(sent).toHaveLength(before + 1);
    expect(log.session.value).toBe("b");
  });
});
