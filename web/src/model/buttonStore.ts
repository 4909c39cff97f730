/** The buttons of the Tiltfile and of extensions, by where they are shown. */

import { computed, signal } from "@preact/signals";
import type { ServerMessage } from "../generated/protocol";
import type { UIButton } from "./buttonTypes";

type ButtonsMessage = Extract<ServerMessage, { type: "buttons" }>;

/** Tilt's word for the bar at the top. */
export const NAV = "nav";

export class Buttons {
  readonly #all = signal<ReadonlyMap<string, UIButton>>(new Map());

  readonly #places = computed(() => {
    const places = new Map<string, UIButton[]>();
    const all = [...this.#all.value.values()];
    all.sort((one, other) => one.metadata.name.localeCompare(other.metadata.name));
    for (const button of all) {
      const { componentType, componentID } = button.spec.location;
      const place = placeOf(componentType, componentID);
      places.set(place, [...(places.get(place) ?? []), button]);
    }
    return places;
  });

  /** In the bar at the top. */
  get global(): readonly UIButton[] {
    return this.#places.value.get(placeOf("global", NAV)) ?? [];
  }

  of(resource: string): readonly UIButton[] {
    return this.#places.value.get(placeOf("resource", resource)) ?? [];
  }

  apply(message: ButtonsMessage): void {
    const all = new Map(message.complete ? [] : this.#all.peek());
    for (const name of message.removed) all.delete(name);
    for (const button of message.buttons) all.set(button.metadata.name, button);
    this.#all.value = all;
  }
}

function placeOf(type: string, id: string): string {
  return `${type.toLowerCase()}\n${id}`;
}
