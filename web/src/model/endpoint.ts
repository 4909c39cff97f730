import type { EndpointLink } from "../generated/protocol";

/** What these open is a page of this browser with words of the Tiltfile in it, or files of this machine. */
const dangerous = /^(?:javascript|vbscript|data|blob|file|filesystem|about|view-source|chrome|resource):/;

/** The address, if a click on it can only open a page or another program: a Tiltfile must not be able to run script here. */
export function safeAddress(link: EndpointLink): string | undefined {
  const said = link.url ?? "";
  // `localhost:80` is no scheme of that name.
  if (!/^\s*[a-z][a-z\d+.-]*:\/\//i.test(said) || !URL.canParse(said)) return undefined;
  const url = new URL(said);
  return dangerous.test(url.protocol) ? undefined : url.href;
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
