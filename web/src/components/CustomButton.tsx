/** A button of the Tiltfile. */

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
      class="custom"
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

/** As an image: drawings of a Tiltfile must not run script here. */
function ButtonIcon({ button }: { button: UIButton }) {
  const { iconSVG, iconName } = button.spec;
  if (!iconSVG) return iconName ? <NamedIcon name={iconName} /> : null;
  const dataUrl = `data:image/svg+xml,${encodeURIComponent(iconSVG)}`;
  if (hasOwnColors(iconSVG)) return <img class="icon" alt="" src={dataUrl} />;
  // One without colours of its own is drawn in the colour of the text beside it, as Tilt does.
  return <span class="icon stencil" style={{ maskImage: `url("${dataUrl}")` }} aria-hidden="true" />;
}
