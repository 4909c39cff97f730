import { useLayoutEffect, useRef } from "preact/hooks";

/** A dialog that is open as long as it is drawn. When it goes, the focus goes back to where it was. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}
