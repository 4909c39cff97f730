/** So that a closed group does not hide what needs attention. */

import { overall, overallWord } from "../model/status";
import { session } from "../app/page";
import { Mark } from "./StatusIcon";

const troubles = ["error", "busy", "starting", "waiting"] as const;

export function Troubles({ names }: { names: readonly string[] }) {
  const states = names.map((name) => session.resource(name)?.value).map((found) => found && overall(found));
  return (
    <span class="troubles">
      {troubles.map((state) => {
        const count = states.filter((found) => found === state).length;
        return count === 0 ? null : (
          <span key={state} title={`${count} ${overallWord[state]}`}>
            <Mark shape={state} />
            {count} <span class="hidden">{overallWord[state]}</span>
          </span>
        );
      })}
    </span>
  );
}
