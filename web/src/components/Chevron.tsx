/** An arrow that points down while its section is expanded. */
export function Chevron() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" class="chevron">
      <path d="M5 6.5l3 3 3-3" class="stroke" />
    </svg>
  );
}
