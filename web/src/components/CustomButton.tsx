/** A button that the Tiltfile defines. */

import type { UIButton } from "../model/buttonTypes";
import { needsForm } from "../model/buttonClick";
import { snapshotTime } from "../app/appState";
import { pendingClicks, pressButton } from "./ButtonForm";
import { hasOwnColors, NamedIcon } from "./NamedIcon";

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
  return (
    <button
      type="button"
      class="custom-button"
      disabled={button.spec.disabled === true || snapshotTime.value !== undefined}
      aria-busy={pendingClicks.value.has(button.metadata.name)}
      aria-haspopup={needsForm(button) ? "dialog" : undefined}
      onClick={() => pressButton(button)}
    >
      <ButtonIcon button={button} />
      {button.spec.text}
    </button>
  );
}

/** Rendered as an image: an SVG of a Tiltfile must not run script in this page. */
function ButtonIcon({ button }: { button: UIButton }) {
  const { iconSVG, iconName } = button.spec;
  if (!iconSVG) return iconName ? <NamedIcon name={iconName} /> : null;
  const dataUrl = `data:image/svg+xml,${encodeURIComponent(iconSVG)}`;
  if (hasOwnColors(iconSVG)) return <img class="icon" alt="" src={dataUrl} />;
  // An SVG without colours of its own takes the colour of the text beside it, as in Tilt.
  return <span class="icon mask-icon" style={{ maskImage: `url("${dataUrl}")` }} aria-hidden="true" />;
}
