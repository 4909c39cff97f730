/** Which of the page's dialogs are open. */

import { signal } from "@preact/signals";

export const isHelpOpen = signal(false);
export const isPaletteOpen = signal(false);
