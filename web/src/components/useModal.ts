import { useLayoutEffect, useRef } from "preact/hooks";

/** A dialog that is open as long as it is drawn. When it goes, the focus goes back to where it was. */
export function useModal(onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element) return;
    element.showModal();
    element.addEventListener("close", onClose);
    return () => {
      // Browsers tell it later, when the next one may be open already.
      element.removeEventListener("close", onClose);
      element.close();
    };
  }, []);
  return dialog;
}
