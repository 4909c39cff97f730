/** A button of the Tiltfile. */

import type { UIButton } from "../model/buttonTypes";
import { asks } from "../model/buttonClick";
import { snapshot } from "../app/page";
import { pending, press } from "./ButtonForm";
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
      disabled={button.spec.disabled === true || snapshot.value !== undefined}
      aria-busy={pending.value.has(button.metadata.name)}
      aria-haspopup={asks(button) ? "dialog" : undefined}
      onClick={() => press(button)}
    >
      <Icon button={button} />
      {button.spec.text}
    </button>
  );
}

/** As an image: drawings of a Tiltfile must not run script here. */
function Icon({ button }: { button: UIButton }) {
  const { iconSVG, iconName } = button.spec;
  if (!iconSVG) return iconName ? <NamedIcon name={iconName} /> : null;
  const address = `data:image/svg+xml,${encodeURIComponent(iconSVG)}`;
  if (hasOwnColors(iconSVG)) return <img class="icon" alt="" src={address} />;
  // One without colours of its own is drawn in the colour of the text beside it, as Tilt does.
  return <span class="icon stencil" style={{ maskImage: `url("${address}")` }} aria-hidden="true" />;
}
