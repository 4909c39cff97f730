/** The form that a button of the Tiltfile asks for before it is clicked. */

import { signal, useSignal } from "@preact/signals";
import type { ButtonAnswer, ButtonInput, UIButton } from "../model/buttonTypes";
import { asks, click, firstAnswers } from "../model/buttonClick";
import { notify } from "../app/page";
import { useModal } from "./useModal";

const asked = signal<UIButton | undefined>(undefined);

/** Names of buttons whose clicks are on their way. */
export const pending = signal<ReadonlySet<string>>(new Set());

/** A click, or the form that comes before it. */
export function press(button: UIButton): void {
  if (asks(button)) asked.value = button;
  else void tell(button, firstAnswers(button));
}

async function tell(button: UIButton, answers: readonly ButtonAnswer[]): Promise<void> {
  const { name } = button.metadata;
  pending.value = new Set(pending.peek()).add(name);
  try {
    await click(button, answers);
  } catch (error) {
    notify(`${button.spec.text}: ${error instanceof Error ? error.message : String(error)}`);
  }
  pending.value = new Set([...pending.peek()].filter((other) => other !== name));
}

export function ButtonForm() {
  const button = asked.value;
  return button ? <Form key={button.metadata.name} button={button} /> : null;
}

function Form({ button }: { button: UIButton }) {
  const close = () => (asked.value = undefined);
  const dialog = useModal(close);
  const answers = useSignal(firstAnswers(button));
  const inputs = button.spec.inputs ?? [];
  const change = (index: number, answer: ButtonAnswer) => {
    answers.value = answers.peek().map((old, at) => (at === index ? answer : old));
  };
  const id = `button-${button.metadata.name}`;
  return (
    <dialog ref={dialog} class="form" aria-labelledby={id}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          void tell(button, answers.peek());
        }}
      >
        <h2 id={id}>{button.spec.text}</h2>
        {inputs.map((input, index) => {
          const answer = answers.value[index];
          return input.hidden || !answer ? null : (
            <Input key={input.name} input={input} answer={answer} onChange={(next) => change(index, next)} />
          );
        })}
        {button.spec.requiresConfirmation ? <p>Really do this?</p> : null}
        <p class="form-end">
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

interface InputProperties {
  input: ButtonInput;
  answer: ButtonAnswer;
  onChange: (answer: ButtonAnswer) => void;
}

function Input({ input, answer, onChange }: InputProperties) {
  const { name } = input;
  const label = input.label || name;
  if (input.bool) {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={answer.bool?.value === true}
          onChange={(event) => onChange({ name, bool: { value: event.currentTarget.checked } })}
        />
        {label}
      </label>
    );
  }
  return (
    <label class="entry">
      <span>{label}</span>
      {input.choice ? (
        <select
          value={answer.choice?.value}
          onChange={(event) => onChange({ name, choice: { value: event.currentTarget.value } })}
        >
          {(input.choice.choices ?? []).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          value={answer.text?.value ?? ""}
          placeholder={input.text?.placeholder}
          onInput={(event) => onChange({ name, text: { value: event.currentTarget.value } })}
        />
      )}
    </label>
  );
}
