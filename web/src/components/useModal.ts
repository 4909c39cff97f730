import { useLayoutEffect, useRef } from "preact/hooks";

/** Opens a dialog as long as it is mounted. Afterwards the focus returns to where it was. */
export function useModal(onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect, so that it is open before the next key press.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element) return;
    element.showModal();
    element.addEventListener("close", onClose);
    return () => {
      // Browsers send the event later, when the next dialog may be open already.
      element.removeEventListener("close", onClose);
      element.close();
    };
  }, []);
  return dialog;
}
