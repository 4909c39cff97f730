/** Why lilt refuses a WebSocket. Scripts do not see the response to one. */

/** The session's answer to a page that it does not let in, see `origin_check.rs`. */
export interface AccessRefusal {
  error: string;
  /** What to start lilt with, so that it lets the page in. */
  command?: string | null;
}

/**
 * Asks whether the session lets this page in. Undefined: it does, or nobody answers.
 *
 * Behind a proxy that rewrites `Host` a `GET` passes, because it has no `Origin`. A `POST` has one, as a WebSocket has.
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
    // Nobody is there, or it is not lilt: the page says that there is no connection.
    return undefined;
  }
}

function isAccessRefusal(body: unknown): body is AccessRefusal {
  return typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
}
