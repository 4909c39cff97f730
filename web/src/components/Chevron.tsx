/** Points down while what is under it is open. */
export function Chevron() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" class="chevron">
      <path d="M5 6.5l3 3 3-3" class="stroke" />
    </svg>
  );
}
