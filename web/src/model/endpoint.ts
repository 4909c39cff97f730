import type { UIResourceLink, RunningSession } from "../generated/protocol";

/**
 * URL schemes that a click may open: web pages, editors, database and chat clients. Other links are shown as text.
 */
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

/** Returns the URL if its scheme is allowed: a link of a Tiltfile must not be able to run script in this page. */
export function safeUrl(link: UIResourceLink): string | undefined {
  const text = link.url ?? "";
  // `localhost:80` is no scheme of that name.
  if (!/^\s*[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return ALLOWED_SCHEMES.has(url.protocol.slice(0, -1)) ? url.href : undefined;
}

/** Returns whether a browser shows the URL; others open another program and need no new tab. */
export function isWebPage(url: string): boolean {
  return /^https?:/.test(url);
}

export function openUrl(url: string): void {
  if (isWebPage(url)) open(url, "_blank", "noopener");
  else location.assign(url);
}

/** Returns the link's name, otherwise the URL without scheme and trailing slash. */
export function endpointLabel(link: UIResourceLink): string {
  if (link.name) return link.name;
  return (link.url ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** Returns whether the name is `localhost` or a subdomain of it. */
function isLocalhost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

function isLoopback(hostname: string): boolean {
  return isLocalhost(hostname) || hostname.startsWith("127.") || hostname === "[::1]";
}

/**
 * Returns the link to another session of this machine, for a page that was opened at `page`.
 *
 * Returns undefined if the session does not listen where the link would lead: another server could read the one-time
 * code, as could everybody on the network behind a page that is served with HTTPS.
 */
export function linkToSession(
  session: Pick<RunningSession, "link" | "addresses">,
  page: Pick<Location, "protocol" | "hostname">,
): string | undefined {
  if (page.protocol !== "http:") return undefined;
  const url = new URL(session.link);
  if (url.hostname === page.hostname) return session.link;
  if (isLoopback(page.hostname)) {
    // Keeps the host name of the page: cookies belong to a name.
    if (isLocalhost(page.hostname) && isLocalhost(url.hostname)) url.hostname = page.hostname;
    return url.href;
  }
  // Only IP addresses: what a name resolves to is decided elsewhere.
  const address = page.hostname.replace(/^\[|\]$/g, "");
  const isAddress = address.includes(":") || /^[\d.]+$/.test(address);
  const anyAddress = address.includes(":") ? "::" : "0.0.0.0";
  if (!isAddress || !session.addresses.some((listening) => listening === address || listening === anyAddress))
    return undefined;
  url.hostname = page.hostname;
  return url.href;
}
