/** HTTP requests to the session. */

/** Fetches a URL. Throws an error with the response's text if the session refuses the request. */
export async function fetchOk(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response;
}

export async function fetchJson<Body>(url: string): Promise<Body> {
  return (await (await fetchOk(url)).json()) as Body;
}

/** Returns what to show of a caught error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Downloads a file, like a click on a link with the `download` attribute. */
export function downloadFile(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}
