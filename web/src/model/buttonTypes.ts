/** Buttons of the Tiltfile and of extensions, as the object API shows them. */

export type {
  UIButton,
  UIInputSpec as ButtonInput,
  UIInputStatus as ButtonInputValue,
} from "../generated/objects";
