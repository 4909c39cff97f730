import { expect, test } from "vitest";
import { summarizeCluster } from "./clusterStatus";

test("summarizes a cluster by context, namespace and connection state", () => {
  const metadata = { name: "default" };
  const connection = { kubernetes: { context: "kind-dev", namespace: "shop" } };
  expect(
    summarizeCluster({ metadata, status: { connection, version: "v1.34.1", connectedAt: "now" } }),
  ).toEqual({
    name: "kind-dev, namespace shop",
    state: "answers (v1.34.1)",
    failed: false,
  });
  expect(summarizeCluster({ metadata, status: { connection, error: "no route to host" } })).toEqual({
    name: "kind-dev, namespace shop",
    state: "no route to host",
    failed: true,
  });
  expect(summarizeCluster({ metadata })).toEqual({
    name: "default",
    state: "is asked for the first time",
    failed: false,
  });
});
