import { chords, helpShown, keys, setSingleKeys, singleKeys } from "../app/shortcuts";
import { setTheme, theme, themes, themeWords } from "../model/theme";
import { version } from "../app/page";
import { useModal } from "./useModal";

export function Help() {
  return helpShown.value ? <Open /> : null;
}

function Open() {
  const close = () => (helpShown.value = false);
  const dialog = useModal(close);
  const all = [...chords, ...keys.map(({ key, words, meaning }) => ({ words: words ?? key, meaning }))];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class={`keys${singleKeys.value ? "" : " without"}`}>
        {all.map(({ words, meaning }) => (
          <div key={words} class={words.length === 1 && !/[↑↓]/.test(words) ? "single" : ""}>
            <dt>
              <kbd>{words}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="help-end">
        <label class="check">
          <input
            type="checkbox"
            checked={singleKeys.value}
            onChange={(event) => setSingleKeys(event.currentTarget.checked)}
          />
          Keys of a single letter
        </label>
        <label class="check">
          Colours
          <select
            value={theme.value}
            onChange={(event) => {
              const wanted = themes.find((known) => known === event.currentTarget.value);
              if (wanted) setTheme(wanted);
            }}
          >
            {themes.map((name) => (
              <option key={name} value={name}>
                {themeWords[name]}
              </option>
            ))}
          </select>
        </label>
        {version.value ? <span class="muted">lilt {version.value}</span> : null}
        <button type="button" onClick={close} autoFocus>
          Close
        </button>
      </div>
    </dialog>
  );
}
