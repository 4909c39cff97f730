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
export async function askAccess(): Promise<AccessRefusal | "sign in" | undefined> {
  try {
    const { status } = await fetch("/overview", { cache: "no-store" });
    if (status === 401) return "sign in";
    const answer = await fetch("/api/access", { method: "POST", headers: { accept: "application/json" } });
    if (answer.status !== 403) return undefined;
    const said: unknown = await answer.json();
    return isRefusal(said) ? said : undefined;
  } catch {
    // Nobody is there, or it is not lilt: the page says that there is no connection.
    return undefined;
  }
}

function isRefusal(said: unknown): said is AccessRefusal {
  return typeof said === "object" && said !== null && "error" in said && typeof said.error === "string";
}
