import { expect, test } from "vitest";
import { endpointLabel, isWebPage, linkToSession, safeUrl } from "./endpoint";

test("allows URLs of web pages and known programs only", () => {
  expect(safeUrl({ url: "http://localhost:8000" })).toBe("http://localhost:8000/");
  for (const url of ["vscode://file/src/main.go", "postgres://me@localhost:5432/db", "mongodb+srv://x/"]) {
    expect(safeUrl({ url })).toBe(url);
    expect(isWebPage(url)).toBe(false);
  }
  for (const url of [
    "javascript:alert(1)",
    "javascript://x/%0aalert(1)",
    " JavaScript://x/%0aalert(1)",
    "java\nscript://x/%0aalert(1)",
    "\u0001javascript://x/%0aalert(1)",
    "vbscript://x",
    "data:text/html,x",
    "data://text/html,x",
    "blob://x",
    "ms-msdt://x",
    "search-ms://x",
    "view-source://x",
    "file:///etc/passwd",
    "localhost:80",
    "",
  ]) {
    expect(safeUrl({ url })).toBeUndefined();
  }
  expect(endpointLabel({ url: "http://localhost:8000/" })).toBe("localhost:8000");
  expect(endpointLabel({ url: "http://x/", name: "docs" })).toBe("docs");
});

test("links to a session only at addresses where it listens", () => {
  const at = (hostname: string, protocol = "http:") => ({ protocol, hostname });
  const local = { link: "http://localhost:10351/?code=a", addresses: ["127.0.0.1", "::1"] };
  expect(linkToSession(local, at("localhost"))).toBe("http://localhost:10351/?code=a");
  expect(linkToSession(local, at("lilt.localhost"))).toBe("http://lilt.localhost:10351/?code=a");
  expect(linkToSession(local, at("127.0.0.1"))).toBe("http://localhost:10351/?code=a");
  // Another server may listen there.
  expect(linkToSession(local, at("192.168.1.5"))).toBeUndefined();
  expect(linkToSession(local, at("box.lan"))).toBeUndefined();

  const everywhere = { link: "http://localhost:10351/?code=a", addresses: ["0.0.0.0", "::1"] };
  expect(linkToSession(everywhere, at("192.168.1.5"))).toBe("http://192.168.1.5:10351/?code=a");
  expect(linkToSession(everywhere, at("[fe80::1]"))).toBeUndefined();
  expect(linkToSession(everywhere, at("box.lan"))).toBeUndefined();
  // The code would be sent over the network unencrypted.
  expect(linkToSession(everywhere, at("192.168.1.5", "https:"))).toBeUndefined();

  const named = { link: "http://box.lan:10351/?code=a", addresses: ["192.168.1.5"] };
  expect(linkToSession(named, at("box.lan"))).toBe("http://box.lan:10351/?code=a");
  expect(linkToSession(named, at("192.168.1.5"))).toBe("http://192.168.1.5:10351/?code=a");
  const only = { link: "http://127.0.0.1:10351/?code=a", addresses: ["127.0.0.1"] };
  expect(linkToSession(only, at("localhost"))).toBe("http://127.0.0.1:10351/?code=a");
});
