/** The bar below the lines: display options, and the button that follows the log. */

import {
  displayToggles,
  textSizes,
  setTextSize,
  textSize,
  toggleDisplayOption,
  type TextSize,
} from "./displayOptions";

export function LogFooter({ following, onFollow }: { following: boolean; onFollow: () => void }) {
  return (
    <div class="log-footer">
      <span class="display-options" role="group" aria-label="How lines look">
        {displayToggles.map(({ name, title, key, setting }) => (
          <label class="check" key={name} title={`${title} (${key})`}>
            <input type="checkbox" checked={setting.value} onChange={() => toggleDisplayOption(name)} />
            {title}
          </label>
        ))}
        <select
          class="borderless"
          aria-label="Size of letters"
          title="Size of letters (+ and -)"
          value={textSize.value}
          onChange={(event) => setTextSize(event.currentTarget.value as TextSize)}
        >
          {textSizes.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </span>
      {following ? (
        <span class="muted">Following</span>
      ) : (
        <button type="button" class="follow-button" onClick={onFollow}>
          ↓ Follow
        </button>
      )}
    </div>
  );
}
