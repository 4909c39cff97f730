/** A button of the Tiltfile, with the form that it asks for. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ButtonAnswer, ButtonInput, UIButton } from "../model/button";
import { asks, click, firstAnswers } from "../model/clicks";
import { notify } from "../page";
import { NamedIcon } from "./Icon";

export function CustomButtons({ buttons }: { buttons: readonly UIButton[] }) {
  if (buttons.length === 0) return null;
  return (
    <span class="custom-buttons">
      {buttons.map((button) => (
        <CustomButton key={button.metadata.name} button={button} />
      ))}
    </span>
  );
}

function CustomButton({ button }: { button: UIButton }) {
  const open = useSignal(false);
  const pending = useSignal(false);
  const tell = async (answers: readonly ButtonAnswer[]) => {
    open.value = false;
    pending.value = true;
    try {
      await click(button, answers);
    } catch (error) {
      notify(`${button.spec.text}: ${error instanceof Error ? error.message : String(error)}`);
    }
    pending.value = false;
  };
  return (
    <>
      <button
        type="button"
        class="custom"
        disabled={button.spec.disabled === true}
        aria-busy={pending.value}
        aria-haspopup={asks(button) ? "dialog" : undefined}
        onClick={() => {
          if (asks(button)) open.value = true;
          else void tell(firstAnswers(button));
        }}
      >
        <Icon button={button} />
        {button.spec.text}
      </button>
      {open.value ? (
        <Form button={button} onCancel={() => (open.value = false)} onClick={(it) => void tell(it)} />
      ) : null}
    </>
  );
}

/** As an image: drawings of a Tiltfile must not run script here. */
function Icon({ button }: { button: UIButton }) {
  const { iconSVG, iconName } = button.spec;
  if (!iconSVG) return iconName ? <NamedIcon name={iconName} /> : null;
  return <img class="icon" alt="" src={`data:image/svg+xml,${encodeURIComponent(iconSVG)}`} />;
}

interface FormProperties {
  button: UIButton;
  onCancel: () => void;
  onClick: (answers: readonly ButtonAnswer[]) => void;
}

function Form({ button, onCancel, onClick }: FormProperties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const answers = useSignal(firstAnswers(button));
  useEffect(() => dialog.current?.showModal(), []);
  const inputs = button.spec.inputs ?? [];
  const change = (index: number, answer: ButtonAnswer) => {
    answers.value = answers.peek().map((old, at) => (at === index ? answer : old));
  };
  const id = `button-${button.metadata.name}`;
  return (
    <dialog ref={dialog} class="form" aria-labelledby={id} onClose={onCancel}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          onClick(answers.peek());
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
          <button type="button" onClick={onCancel}>
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
