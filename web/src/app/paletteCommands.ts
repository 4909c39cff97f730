/** What the palette offers. */

import { keys } from "./shortcuts";
import { shownLog } from "../logs/logActions";
import type { UIButton } from "../model/buttonTypes";
import { copyText } from "../model/clipboard";
import type { Command } from "../model/commandSearch";
import { endpointLabel, openAddress, safeAddress } from "../model/endpoint";
import { collapse, nameFilter, stateFilter } from "../model/listSettings";
import { notifying } from "../model/notifications";
import { go } from "../model/route";
import { STARRED, TILTFILE } from "../model/session";
import { stars } from "../model/stars";
import { isDisabled, isManual, overall, overalls, overallWord } from "../model/status";
import { canCancel } from "../model/triggerButton";
import { setTheme, theme, themes, themeWords } from "../model/theme";
import { buttons, cancel, notify, notifyMe, session, setEnabled, setManual, snapshot, trigger } from "./page";
import { press } from "../components/ButtonForm";

/** Some are only there in some places. */
type Offer = Command & { there?: boolean };

export function commands(): Command[] {
  const names = session.names.value;
  const shown = names.map(toShow);
  // What fails is most likely looked for.
  shown.sort((one, other) => Number(other.state === "error") - Number(one.state === "error"));
  const general = keys
    .filter(({ key, there }) => key.length === 1 && there?.() !== false)
    .map(({ key, meaning, run }) => ({ words: meaning, key, run }));
  const all: Offer[] = [
    ...shown,
    ...general,
    ...ofLog(),
    ...ofPage(),
    ...buttons.global.map((button) => ({
      words: button.spec.text,
      there: canPress(button),
      run: () => press(button),
    })),
    ...names.flatMap(ofResource),
  ];
  return all.filter(({ there }) => there !== false);
}

function canPress({ spec }: UIButton): boolean {
  return spec.disabled !== true && snapshot.value === undefined;
}

function toShow(name: string): Command {
  const resource = session.resource(name)?.value;
  return { words: name, state: resource && overall(resource), run: () => go({ view: "resource", name }) };
}

function ofLog(): Offer[] {
  const { copy, download, clear } = shownLog;
  if (!copy || !download || !clear) return [];
  return [
    { words: "Copy the lines of the log", run: copy },
    { words: "Download the log", run: download },
    { words: "Clear the log, or show what was cleared", run: clear },
  ];
}

function ofPage(): Offer[] {
  const live = snapshot.value === undefined;
  const { counts } = session;
  const off = session.names.value.filter((name) => {
    const resource = session.resource(name)?.value;
    return resource && isDisabled(resource);
  });
  return [
    ...overalls.map((state) => ({
      words: `Show only: ${overallWord[state]}`,
      there: counts.value[state] > 0,
      run: () => {
        stateFilter.value = state;
        go({ view: "overview" });
      },
    })),
    {
      words: "Show all resources",
      there: stateFilter.value !== undefined || nameFilter.value !== "",
      run: () => {
        stateFilter.value = undefined;
        nameFilter.value = "";
        go({ view: "overview" });
      },
    },
    { words: "Starred logs", there: stars.value.length > 0, run: () => go({ view: "starred" }) },
    {
      words: "Close all groups",
      run: () => collapse([STARRED, ...session.groups.peek().map(({ key }) => key)]),
    },
    { words: "Open all groups", run: () => collapse([]) },
    { words: "Enable all resources", there: live && off.length > 0, run: () => setEnabled(off, true) },
    {
      words: notifying.value ? "No more notifications" : "Notify me of failures and recoveries",
      run: () => void notifyMe(),
    },
    { words: "Save a snapshot", there: live, run: () => follow("/api/snapshot") },
    { words: "Other sessions of this machine", there: live, run: openSessions },
    ...themes.map((name) => ({
      words: `Colours: ${themeWords[name]}`,
      there: theme.value !== name,
      run: () => setTheme(name),
    })),
  ];
}

/** As a click on a link that downloads. */
function follow(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

function openSessions(): void {
  const summary = document.querySelector<HTMLElement>(".sessions summary");
  summary?.click();
  summary?.focus();
}

function ofResource(name: string): Offer[] {
  const resource = session.resource(name)?.value;
  if (!resource) return [];
  const { status } = resource;
  const live = snapshot.value === undefined;
  const off = isDisabled(resource);
  const manual = isManual(resource);
  const pod = status.k8sResourceInfo?.podName;
  return [
    { words: `Update ${name} now`, there: live && !off, run: () => trigger(name) },
    {
      words: `Cancel the update of ${name}`,
      there: live && canCancel(resource),
      run: () => cancel(name),
    },
    {
      words: `Disable ${name}`,
      there: live && !off && name !== TILTFILE,
      run: () => setEnabled([name], false),
    },
    { words: `Enable ${name}`, there: live && off, run: () => setEnabled([name], true) },
    {
      words: `Switch ${name} to ${manual ? "Auto" : "Manual"}`,
      there: live && !off,
      run: () => setManual([name], !manual),
    },
    ...buttons.of(name).map((button) => ({
      words: `${button.spec.text} (${name})`,
      there: canPress(button),
      run: () => press(button),
    })),
    ...(status.endpointLinks ?? []).map((link) => {
      const href = safeAddress(link);
      return {
        words: `Open ${endpointLabel(link)} of ${name}`,
        there: href !== undefined,
        run: () => openAddress(href ?? ""),
      };
    }),
    {
      words: `Copy the pod's name of ${name}`,
      there: Boolean(pod),
      run: () => void copyText(pod ?? "").then((copied) => notify(copied ? `Copied ${pod}` : `${pod}`)),
    },
  ];
}
