/** The buttons that Tiltfiles and extensions define, by where they are shown. */

import { computed, signal } from "@preact/signals";
import type { ServerMessage } from "../generated/protocol";
import type { UIButton } from "./buttonTypes";

type ButtonsMessage = Extract<ServerMessage, { type: "buttons" }>;

/** Tilt's name of the bar at the top. */
export const NAV = "nav";

export class ButtonStore {
  readonly #buttons = signal<ReadonlyMap<string, UIButton>>(new Map());

  readonly #byLocation = computed(() => {
    const byLocation = new Map<string, UIButton[]>();
    const sorted = [...this.#buttons.value.values()];
    sorted.sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    for (const button of sorted) {
      const { componentType, componentID } = button.spec.location;
      const key = locationKey(componentType, componentID);
      byLocation.set(key, [...(byLocation.get(key) ?? []), button]);
    }
    return byLocation;
  });

  /** Buttons of the bar at the top. */
  get inNavigationBar(): readonly UIButton[] {
    return this.#byLocation.value.get(locationKey("global", NAV)) ?? [];
  }

  forResource(resource: string): readonly UIButton[] {
    return this.#byLocation.value.get(locationKey("resource", resource)) ?? [];
  }

  apply(message: ButtonsMessage): void {
    const buttons = new Map(message.complete ? [] : this.#buttons.peek());
    for (const name of message.removed) buttons.delete(name);
    for (const button of message.buttons) buttons.set(button.metadata.name, button);
    this.#buttons.value = buttons;
  }
}

function locationKey(type: string, id: string): string {
  return `${type.toLowerCase()}\n${id}`;
}
