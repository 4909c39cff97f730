/** Clicks on buttons of the Tiltfile: the initial values of their inputs, and the request that reports a click. */

import type { ButtonInputValue, ButtonInput, UIButton } from "./buttonTypes";

/** Returns the initial values of a button's form: those of the last click, otherwise the defaults. */
export function initialInputValues(button: UIButton): ButtonInputValue[] {
  const last = button.status?.inputs ?? [];
  return (button.spec.inputs ?? []).map((input) => {
    const previous = last.find(({ name }) => name === input.name);
    return initialInputValue(input, previous);
  });
}

function initialInputValue(input: ButtonInput, previous: ButtonInputValue | undefined): ButtonInputValue {
  const { name } = input;
  if (input.hidden) return { name, hidden: { value: input.hidden.value ?? "" } };
  if (input.bool) return { name, bool: { value: previous?.bool?.value ?? input.bool.defaultValue ?? false } };
  if (input.choice) {
    const choices = input.choice.choices ?? [];
    const last = previous?.choice?.value;
    return { name, choice: { value: last && choices.includes(last) ? last : (choices[0] ?? "") } };
  }
  return { name, text: { value: previous?.text?.value ?? input.text?.defaultValue ?? "" } };
}

/** Returns whether a click opens a form first: for visible inputs or a confirmation. */
export function needsForm(button: UIButton): boolean {
  const hasVisibleInput = (button.spec.inputs ?? []).some((input) => !input.hidden);
  return hasVisibleInput || button.spec.requiresConfirmation === true;
}

/** Formats a time as Kubernetes' `MicroTime`. */
export function formatMicroTime(date: Date): string {
  return date.toISOString().replace(/\.(\d{3})Z$/, ".$1000Z");
}

/** Reports a click to the session like Tilt's page: by a patch of the button's status. */
export async function sendClick(button: UIButton, values: readonly ButtonInputValue[]): Promise<void> {
  const status = { lastClickedAt: formatMicroTime(new Date()), inputs: values };
  const name = encodeURIComponent(button.metadata.name);
  const response = await fetch(`/proxy/apis/tilt.dev/v1alpha1/uibuttons/${name}/status`, {
    method: "PATCH",
    headers: { "Content-Type": "application/merge-patch+json" },
    body: JSON.stringify({ status }),
  });
  if (!response.ok) throw new Error(await responseError(response));
}

async function responseError(response: Response): Promise<string> {
  const text = await response.text();
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text.trim() || `the session answers ${response.status}`;
  }
}
