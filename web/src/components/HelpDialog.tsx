import { keyCombinations, shortcuts, setSingleKeysEnabled, singleKeysEnabled } from "../app/shortcuts";
import { isHelpOpen } from "../app/openDialogs";
import { setTheme, theme, themes, themeLabels } from "../model/theme";
import { liltVersion } from "../app/appState";
import { useModal } from "./useModal";

export function HelpDialog() {
  return isHelpOpen.value ? <OpenHelpDialog /> : null;
}

function OpenHelpDialog() {
  const close = () => (isHelpOpen.value = false);
  const dialog = useModal(close);
  const entries = [
    ...keyCombinations,
    ...shortcuts.map(({ key, display, description }) => ({ display: display ?? key, description })),
  ];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class={`keys${singleKeysEnabled.value ? "" : " single-keys-off"}`}>
        {entries.map(({ display, description }) => (
          <div key={display} class={display.length === 1 && !/[↑↓]/.test(display) ? "single-key" : ""}>
            <dt>
              <kbd>{display}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <div class="help-footer">
        <label class="check">
          <input
            type="checkbox"
            checked={singleKeysEnabled.value}
            onChange={(event) => setSingleKeysEnabled(event.currentTarget.checked)}
          />
          Keys of a single letter
        </label>
        <label class="check">
          Colours
          <select
            value={theme.value}
            onChange={(event) => {
              const chosen = themes.find((name) => name === event.currentTarget.value);
              if (chosen) setTheme(chosen);
            }}
          >
            {themes.map((name) => (
              <option key={name} value={name}>
                {themeLabels[name]}
              </option>
            ))}
          </select>
        </label>
        {liltVersion.value ? <span class="muted">lilt {liltVersion.value}</span> : null}
        <button type="button" onClick={close} autoFocus>
          Close
        </button>
      </div>
    </dialog>
  );
}
