/** The form that a button of the Tiltfile shows before its click is sent. */

import { signal, useSignal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import type { ButtonInputValue, ButtonInput, UIButton } from "../model/buttonTypes";
import { needsForm, sendClick, initialInputValues } from "../model/buttonClick";
import { showToast } from "../app/appState";
import { useModal } from "./useModal";

const formButton = signal<UIButton | undefined>(undefined);

/** Names of the buttons whose clicks are being sent. */
export const pendingClicks = signal<ReadonlySet<string>>(new Set());

/** Sends a click, or opens the button's form first. */
export function pressButton(button: UIButton): void {
  if (needsForm(button)) formButton.value = button;
  else void submit(button, initialInputValues(button));
}

async function submit(button: UIButton, values: readonly ButtonInputValue[]): Promise<void> {
  const { name } = button.metadata;
  pendingClicks.value = new Set(pendingClicks.peek()).add(name);
  try {
    await sendClick(button, values);
  } catch (error) {
    showToast(`${button.spec.text}: ${errorMessage(error)}`);
  }
  pendingClicks.value = new Set([...pendingClicks.peek()].filter((other) => other !== name));
}

export function ButtonFormDialog() {
  const button = formButton.value;
  return button ? <Form key={button.metadata.name} button={button} /> : null;
}

function Form({ button }: { button: UIButton }) {
  const close = () => (formButton.value = undefined);
  const dialog = useModal(close);
  const values = useSignal(initialInputValues(button));
  const inputs = button.spec.inputs ?? [];
  const change = (index: number, value: ButtonInputValue) => {
    values.value = values.peek().map((old, at) => (at === index ? value : old));
  };
  const id = `button-${button.metadata.name}`;
  return (
    <dialog ref={dialog} class="form" aria-labelledby={id}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          void submit(button, values.peek());
        }}
      >
        <h2 id={id}>{button.spec.text}</h2>
        {inputs.map((input, index) => {
          const value = values.value[index];
          return input.hidden || !value ? null : (
            <Input key={input.name} input={input} value={value} onChange={(next) => change(index, next)} />
          );
        })}
        {button.spec.requiresConfirmation ? <p>Really do this?</p> : null}
        <p class="form-actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary">
            {button.spec.requiresConfirmation ? "Confirm" : button.spec.text}
          </button>
        </p>
      </form>
    </dialog>
  );
}

interface InputProps {
  input: ButtonInput;
  value: ButtonInputValue;
  onChange: (value: ButtonInputValue) => void;
}

function Input({ input, value, onChange }: InputProps) {
  const { name } = input;
  const label = input.label || name;
  if (input.bool) {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value.bool?.value === true}
          onChange={(event) => onChange({ name, bool: { value: event.currentTarget.checked } })}
        />
        {label}
      </label>
    );
  }
  return (
    <label class="form-field">
      <span>{label}</span>
      {input.choice ? (
        <select
          value={value.choice?.value}
          onChange={(event) => onChange({ name, choice: { value: event.currentTarget.value } })}
        >
          {(input.choice.choices ?? []).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          value={value.text?.value ?? ""}
          placeholder={input.text?.placeholder}
          onInput={(event) => onChange({ name, text: { value: event.currentTarget.value } })}
        />
      )}
    </label>
  );
}
