/** The narrow list beside a log. */

import { useComputed } from "@preact/signals";
import { route } from "../model/route";
import { runtimeStatus, updateStatus } from "../model/status";
import { session } from "../page";
import { Link } from "./Link";
import { Mark } from "./Mark";
import { Once } from "./Once";

export function ResourceList() {
  return (
    <nav class="side" aria-label="Resources">
      <AllLogs />
      {session.groups.value.map((group) => (
        <section key={group.label}>
          {group.bare ? null : <h2>{group.label}</h2>}
          <ul>
            {group.names.map((name) => (
              <Once key={name} name={name} draw={Item} />
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function AllLogs() {
  return (
    <Link
      to={{ view: "logs" }}
      class="side-item all"
      aria-current={route.value.view === "logs" ? "page" : undefined}
    >
      All logs
    </Link>
  );
}

function Item({ name }: { name: string }) {
  const current = useComputed(() => route.value.view === "resource" && route.value.name === name);
  const resource = session.resource(name)?.value;
  if (!resource) return null;
  const update = updateStatus(resource);
  const runtime = runtimeStatus(resource);
  return (
    <li>
      <Link
        to={{ view: "resource", name }}
        class="side-item"
        title={`${name}: ${update.word}, ${runtime.word}`}
        aria-current={current.value ? "page" : undefined}
      >
        <span class="side-name">{name}</span>
        <Mark shape={update.shape} />
        <Mark shape={runtime.shape} />
        <span class="hidden">
          {update.word}, {runtime.word}
        </span>
      </Link>
    </li>
  );
}
