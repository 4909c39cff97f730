/** The narrow list beside a log. */

import { route } from "../model/route";
import { runtimeStatus, updateStatus } from "../model/status";
import { session } from "../page";
import { Link } from "./Link";
import { Mark } from "./Mark";

export function ResourceList() {
  return (
    <nav class="side" aria-label="Resources">
      <Link
        to={{ view: "logs" }}
        class="side-item all"
        aria-current={route.value.view === "logs" ? "page" : undefined}
      >
        All logs
      </Link>
      {session.groups.value.map((group) => (
        <section key={group.label}>
          {group.bare ? null : <h2>{group.label}</h2>}
          <ul>
            {group.names.map((name) => (
              <Item key={name} name={name} />
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function Item({ name }: { name: string }) {
  const resource = session.resource(name)?.value;
  if (!resource) return null;
  const update = updateStatus(resource);
  const runtime = runtimeStatus(resource);
  const current = route.value;
  return (
    <li>
      <Link
        to={{ view: "resource", name }}
        class="side-item"
        title={`${name}: ${update.word}, ${runtime.word}`}
        aria-current={current.view === "resource" && current.name === name ? "page" : undefined}
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
