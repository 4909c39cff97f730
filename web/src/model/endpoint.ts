import type { EndpointLink, RunningSession } from "../generated/protocol";

/** Schemes that a click may open: pages, editors, clients of servers and chats. Any other is shown as text. */
const ALLOWED_SCHEMES = new Set([
  ..."http https ws wss ftp ftps sftp ssh git".split(" "),
  ..."vscode vscode-insiders vscodium cursor windsurf zed jetbrains idea goland pycharm webstorm subl txmt".split(
    " ",
  ),
  ..."postgres postgresql mysql mariadb redis rediss mongodb mongodb+srv amqp amqps nats kafka grpc grpcs".split(
    " ",
  ),
  ..."tcp rdp vnc slack msteams zoommtg figma notion linear docker-desktop".split(" "),
]);

/** The address, if a click on it can only open a page or a known program: a Tiltfile must not be able to run script here. */
export function safeUrl(link: EndpointLink): string | undefined {
  const text = link.url ?? "";
  // `localhost:80` is no scheme of that name.
  if (!/^\s*[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return ALLOWED_SCHEMES.has(url.protocol.slice(0, -1)) ? url.href : undefined;
}

/** Else another program shows it, and there is no page to be opened beside this one. */
export function isWebPage(url: string): boolean {
  return /^https?:/.test(url);
}

export function openUrl(url: string): void {
  if (isWebPage(url)) open(url, "_blank", "noopener");
  else location.assign(url);
}

/** Its name, or the address without what goes without saying. */
export function endpointLabel(link: EndpointLink): string {
  if (link.name) return link.name;
  return (link.url ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** `localhost` and the names below it. */
function isLocalhost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

function isLoopback(hostname: string): boolean {
  return isLocalhost(hostname) || hostname.startsWith("127.") || hostname === "[::1]";
}

/**
 * The link to a session of this machine, for a page that is read at `from`. Undefined: the session may not listen where the
 * link would lead, and whoever does would get the code, as would everybody on the way to a page behind HTTPS.
 */
export function linkToSession(
  session: Pick<RunningSession, "link" | "addresses">,
  page: Pick<Location, "protocol" | "hostname">,
): string | undefined {
  if (page.protocol !== "http:") return undefined;
  const url = new URL(session.link);
  if (url.hostname === page.hostname) return session.link;
  if (isLoopback(page.hostname)) {
    // The same browser has its cookies by name, so the reader stays at one that belongs to the same machine.
    if (isLocalhost(page.hostname) && isLocalhost(url.hostname)) url.hostname = page.hostname;
    return url.href;
  }
  // Only addresses: another machine decides what a name stands for.
  const address = page.hostname.replace(/^\[|\]$/g, "");
  const isAddress = address.includes(":") || /^[\d.]+$/.test(address);
  const anyAddress = address.includes(":") ? "::" : "0.0.0.0";
  if (!isAddress || !session.addresses.some((listening) => listening === address || listening === anyAddress))
    return undefined;
  url.hostname = page.hostname;
  return url.href;
}
