import type { EndpointLink } from "../generated/protocol";

/** The address, if a click on it can only open a page: a Tiltfile must not be able to run script here. */
export function safeAddress(link: EndpointLink): string | undefined {
  try {
    const url = new URL(link.url ?? "");
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  } catch {
    return undefined;
  }
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
