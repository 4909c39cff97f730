/** Under the lines, so that nothing lies over them. */

import { choices, letters, setSize, size, toggle, type Size } from "./displayOptions";

export function Foot({ following, onFollow }: { following: boolean; onFollow: () => void }) {
  return (
    <div class="log-foot">
      <span class="log-looks" role="group" aria-label="How lines look">
        {choices.map(({ name, title, key, choice }) => (
          <label class="check" key={name} title={`${title} (${key})`}>
            <input type="checkbox" checked={choice.value} onChange={() => toggle(name)} />
            {title}
          </label>
        ))}
        <select
          class="plain"
          aria-label="Size of letters"
          title="Size of letters (+ and -)"
          value={size.value}
          onChange={(event) => setSize(event.currentTarget.value as Size)}
        >
          {letters.map(({ name, words }) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </span>
      {following ? (
        <span class="muted">Following</span>
      ) : (
        <button type="button" class="to-end" onClick={onFollow}>
          ↓ Follow
        </button>
      )}
    </div>
  );
}
