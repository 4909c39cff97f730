/** What the palette offers. */

import { keys } from "./keys";
import type { Command } from "./model/commands";
import { go } from "./model/route";
import { TILTFILE } from "./model/session";
import { isDisabled, isManual, overall } from "./model/status";
import { cancel, session, setEnabled, setManual, trigger } from "./page";

export function commands(): Command[] {
  const names = session.names.value;
  const shown = names.map(toShow);
  // What fails is most likely looked for.
  shown.sort((one, other) => Number(other.state === "error") - Number(one.state === "error"));
  const general = keys
    .filter(({ key }) => key !== "Escape")
    .map(({ key, meaning, run }) => ({ words: meaning, key, run }));
  return [...shown, ...general, ...names.flatMap(ofResource)];
}

function toShow(name: string): Command {
  const resource = session.resource(name)?.value;
  return { words: name, state: resource && overall(resource), run: () => go({ view: "resource", name }) };
}

function ofResource(name: string): Command[] {
  const resource = session.resource(name)?.value;
  if (!resource) return [];
  const off = isDisabled(resource);
  const manual = isManual(resource);
  const all: (Command & { there: boolean })[] = [
    { words: `Update ${name} now`, there: !off, run: () => trigger(name) },
    {
      words: `Cancel the update of ${name}`,
      there: Boolean(resource.status.currentBuild),
      run: () => cancel(name),
    },
    { words: `Disable ${name}`, there: !off && name !== TILTFILE, run: () => setEnabled([name], false) },
    { words: `Enable ${name}`, there: off, run: () => setEnabled([name], true) },
    {
      words: manual ? `Update ${name} by itself` : `Update ${name} only by hand`,
      there: !off,
      run: () => setManual(name, !manual),
    },
  ];
  return all.filter(({ there }) => there);
}
