/** Buttons of the Tiltfile and of extensions, as the object API shows them. Only what the page looks at. */

export interface UIButton {
  metadata: { name: string; annotations?: Record<string, string> };
  spec: {
    text: string;
    location: { componentType: string; componentID: string };
    disabled?: boolean;
    iconName?: string;
    iconSVG?: string;
    requiresConfirmation?: boolean;
    inputs?: ButtonInput[];
  };
  status?: { lastClickedAt?: string | null; inputs?: ButtonAnswer[] };
}

export interface ButtonInput {
  name: string;
  label?: string;
  text?: { defaultValue?: string; placeholder?: string };
  bool?: { defaultValue?: boolean; trueString?: string; falseString?: string };
  choice?: { choices?: string[] };
  hidden?: { value?: string };
}

export interface ButtonAnswer {
  name: string;
  text?: { value: string };
  bool?: { value: boolean };
  choice?: { value: string };
  hidden?: { value: string };
}
