/** The `UIButton` objects of Tiltfiles and extensions. */

export type {
  UIButton,
  UIInputSpec as ButtonInput,
  UIInputStatus as ButtonInputValue,
} from "../generated/objects";
