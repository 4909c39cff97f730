/** The icon of a status. All shapes can be told apart without colour; the label beside it repeats the meaning. */

import type { StatusShape } from "../model/status";

export function StatusIcon({ shape }: { shape: StatusShape }) {
  return (
    <svg class={`status-icon ${shape}`} viewBox="0 0 16 16" aria-hidden="true">
      {drawings[shape]}
    </svg>
  );
}

const drawings = {
  ok: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="M4.8 8.2l2.2 2.2 4.2-4.6" class="cutout" />
    </>
  ),
  error: (
    <>
      <path d="M8 .8L15.2 8 8 15.2.8 8z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />
      <path d="M5.9 5.9l4.2 4.2m0-4.2l-4.2 4.2" class="cutout" />
    </>
  ),
  busy: (
    <>
      <circle cx="8" cy="8" r="6" class="stroke faint" />
      <path d="M8 2a6 6 0 0 1 6 6" class="stroke" />
    </>
  ),
  starting: (
    <>
      <circle cx="8" cy="8" r="6.4" class="stroke thin" />
      <path d="M6.4 5.1v5.8L11 8z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />
    </>
  ),
  waiting: (
    <>
      <path d="M4 1.8h8M4 14.2h8" class="stroke" />
      <path d="M4.8 2c0 3.6 6.4 4.4 6.4 12H4.8C4.8 6.4 11.2 5.6 11.2 2z" class="stroke thin" />
    </>
  ),
  idle: <circle cx="8" cy="8" r="6" class="stroke dashed" />,
  absent: <path d="M4.5 8h7" class="stroke" />,
  disabled: (
    <>
      <circle cx="8" cy="8" r="6" class="stroke thin" />
      <path d="M4 12l8-8" class="stroke thin" />
    </>
  ),
};
