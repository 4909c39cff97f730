/**
 * The last state that the session sent. Each resource has its own signal, so that a change rerenders only what shows
 * that resource; `layout` changes only when rows are added, removed or moved.
 */

import { batch, computed, signal, type Signal } from "@preact/signals";
import {
  annotation,
  type ServerMessage,
  type UIResource,
  type UISession,
  type UnreachableService,
} from "../generated/protocol";
import { overallStatus, type OverallStatus } from "./status";

type StateMessage = Extract<ServerMessage, { type: "state" }>;

export interface Group {
  /** Unique among the groups: a label, or a name that no label can have. */
  key: string;
  /** The heading. */
  label: string;
  names: string[];
  /** The number of resources in the group, if `names` holds only some of them. */
  total?: number;
  /** The group is shown without a heading, because its only resource has the same name. */
  hideHeading?: boolean;
}

export const TILTFILE = "(Tiltfile)";
/** Keys of the groups that do not belong to a label: labels cannot contain brackets. */
export const UNLABELLED = "(other)";
export const STARRED = "(starred)";

export class Session {
  readonly #resources = new Map<string, Signal<UIResource>>();
  readonly #layout = signal(0);
  readonly session = signal<UISession | undefined>(undefined);
  /** Clusters, Docker engines and registries that do not respond. */
  readonly unreachable = computed(() => parseUnreachable(this.session.value));
  /** Why the last load of the Tiltfile failed; undefined if it succeeded. Kept while the next load runs. */
  readonly tiltfileError = computed(() => {
    return this.resource(TILTFILE)?.value.status.buildHistory?.[0]?.error || undefined;
  });
  /** A first state has arrived. */
  readonly isLoaded = signal(false);

  /** All names, in the order of the Tiltfile. */
  readonly names = computed(() => {
    this.#layout.value;
    return [...this.#resources.values()]
      .map((resource) => resource.peek())
      .sort(
        (a, b) =>
          Number(b.metadata.name === TILTFILE) - Number(a.metadata.name === TILTFILE) ||
          (a.status.order ?? 0) - (b.status.order ?? 0) ||
          a.metadata.name.localeCompare(b.metadata.name),
      )
      .map((resource) => resource.metadata.name);
  });

  /** Groups by label; a resource may be in several. The Tiltfile comes first, resources without a label come last. */
  readonly groups = computed<Group[]>(() => {
    const labelled = new Map<string, string[]>();
    const unlabelled: string[] = [];
    const tiltfile: string[] = [];
    for (const name of this.names.value) {
      const labels = Object.keys(this.#resources.get(name)?.peek().metadata.labels ?? {});
      if (name === TILTFILE) tiltfile.push(name);
      else if (labels.length === 0) unlabelled.push(name);
      for (const label of name === TILTFILE ? [] : labels) {
        const names = labelled.get(label);
        if (names) names.push(name);
        else labelled.set(label, [name]);
      }
    }
    const groups: Group[] = [...labelled]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([label, names]) => ({ key: label, label, names }));
    if (tiltfile.length > 0)
      groups.unshift({ key: TILTFILE, label: TILTFILE, names: tiltfile, hideHeading: true });
    if (unlabelled.length > 0)
      groups.push({ key: UNLABELLED, label: unlabelledHeading(labelled), names: unlabelled });
    return groups;
  });

  readonly counts = computed(() => {
    const counts: Record<OverallStatus, number> = {
      error: 0,
      busy: 0,
      starting: 0,
      waiting: 0,
      ok: 0,
      idle: 0,
      disabled: 0,
    };
    for (const name of this.names.value) {
      const resource = this.#resources.get(name)?.value;
      if (resource) counts[overallStatus(resource)]++;
    }
    return counts;
  });

  resource(name: string): Signal<UIResource> | undefined {
    this.#layout.value;
    return this.#resources.get(name);
  }

  apply(message: StateMessage): void {
    batch(() => {
      let layoutChanged = message.complete;
      if (message.complete) {
        const present = new Set(message.resources.map((resource) => resource.metadata.name));
        for (const name of [...this.#resources.keys()]) {
          if (!present.has(name)) this.#resources.delete(name);
        }
      }
      for (const name of message.removed) {
        layoutChanged = this.#resources.delete(name) || layoutChanged;
      }
      for (const resource of message.resources) {
        layoutChanged = this.#upsert(resource) || layoutChanged;
      }
      if (message.session) this.session.value = message.session;
      if (layoutChanged) this.#layout.value++;
      this.isLoaded.value = true;
    });
  }

  /** Adds or replaces a resource. Returns whether its row is new or moves. */
  #upsert(resource: UIResource): boolean {
    const existing = this.#resources.get(resource.metadata.name);
    if (!existing) {
      this.#resources.set(resource.metadata.name, signal(resource));
      return true;
    }
    const before = existing.peek();
    existing.value = resource;
    return (
      before.status.order !== resource.status.order ||
      Object.keys(before.metadata.labels ?? {}).join("\n") !==
        Object.keys(resource.metadata.labels ?? {}).join("\n")
    );
  }
}

function parseUnreachable(session: UISession | undefined): readonly UnreachableService[] {
  const text = session?.metadata.annotations?.[annotation.unreachable];
  return text === undefined ? [] : (JSON.parse(text) as UnreachableService[]);
}

/** Avoids two groups with the heading "other" if that is also a label. */
function unlabelledHeading(labels: ReadonlyMap<string, unknown>): string {
  if (labels.size === 0) return "resources";
  return labels.has("other") ? "without a label" : "other";
}

/** Returns the group of starred resources, in the order in which they were starred. */
export function starredGroup(stars: readonly string[], names: ReadonlySet<string>): Group {
  return { key: STARRED, label: "starred", names: stars.filter((name) => names.has(name)) };
}
