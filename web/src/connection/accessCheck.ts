/** Finds out why lilt refuses a WebSocket: scripts cannot read the response to a WebSocket handshake. */

/** The session's response to a page whose origin it refuses, see `origin_check.rs`. */
export interface AccessRefusal {
  error: string;
  /** The command that starts lilt so that it accepts this page. */
  command?: string | null;
}

/**
 * Asks whether the session accepts this page. Returns undefined if it does, or does not respond.
 *
 * Behind a proxy that rewrites `Host`, a `GET` is accepted because it has no `Origin`. A `POST` has one, like a
 * WebSocket.
 */
export async function checkAccess(): Promise<AccessRefusal | "sign in" | undefined> {
  try {
    const { status } = await fetch("/overview", { cache: "no-store" });
    if (status === 401) return "sign in";
    const response = await fetch("/api/access", { method: "POST", headers: { accept: "application/json" } });
    if (response.status !== 403) return undefined;
    const body: unknown = await response.json();
    return isAccessRefusal(body) ? body : undefined;
  } catch {
    // The session does not respond, or it is not lilt: the banner already says that there is no connection.
    return undefined;
  }
}

function isAccessRefusal(body: unknown): body is AccessRefusal {
  return typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
}
