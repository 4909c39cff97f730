/** Clicks of buttons: what their inputs are filled with, and how a click is told. */

import type { ButtonInputValue, ButtonInput, UIButton } from "./buttonTypes";

/** What a form starts with: what was chosen last, else what the button says. */
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

/** Whether a person must be asked for something before a click. */
export function needsForm(button: UIButton): boolean {
  const shown = (button.spec.inputs ?? []).some((input) => !input.hidden);
  return shown || button.spec.requiresConfirmation === true;
}

/** As Kubernetes writes a time with microseconds. */
export function formatMicroTime(at: Date): string {
  return at.toISOString().replace(/\.(\d{3})Z$/, ".$1000Z");
}

/** Tells the session, as Tilt's page does: a click is a change of the button's status. */
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
