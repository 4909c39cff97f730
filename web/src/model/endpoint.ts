import type { EndpointLink } from "../generated/protocol";

/** Schemes that a click may open: pages, editors, clients of servers and chats. Any other is shown as text. */
const ALLOWED = new Set([
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
export function safeAddress(link: EndpointLink): string | undefined {
  const said = link.url ?? "";
  // `localhost:80` is no scheme of that name.
  if (!/^\s*[a-z][a-z\d+.-]*:\/\//i.test(said) || !URL.canParse(said)) return undefined;
  const url = new URL(said);
  return ALLOWED.has(url.protocol.slice(0, -1)) ? url.href : undefined;
}

/** Else another program shows it, and there is no page to be opened beside this one. */
export function isPage(address: string): boolean {
  return /^https?:/.test(address);
}

export function openAddress(address: string): void {
  if (isPage(address)) open(address, "_blank", "noopener");
  else location.assign(address);
}

/** Its name, or the address without what goes without saying. */
export function endpointLabel(link: EndpointLink): string {
  if (link.name) return link.name;
  return (link.url ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** A link to this machine as it is called from where the page is read: `localhost` is another one there. */
export function fromHere(link: string, hostname: string): string {
  const url = new URL(link);
  if (url.hostname === "localhost") url.hostname = hostname;
  return url.href;
}
