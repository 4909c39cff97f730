/** The commands that the command palette lists. */

import { shortcuts } from "./shortcuts";
import { logActions } from "../logs/logActions";
import type { UIButton } from "../model/buttonTypes";
import { downloadFile } from "../connection/http";
import { copyText } from "../model/clipboard";
import type { Command } from "../model/commandSearch";
import { endpointLabel, openUrl, safeUrl } from "../model/endpoint";
import { setCollapsedGroups, nameFilter, statusFilter } from "../model/listSettings";
import { notificationsEnabled } from "../model/notifications";
import { navigate } from "../model/route";
import { STARRED, TILTFILE } from "../model/session";
import { stars } from "../model/stars";
import { isDisabled, isManual, overallStatus, overallStatuses, overallLabels } from "../model/status";
import { canCancel } from "../model/triggerButton";
import { setTheme, theme, themes, themeLabels } from "../model/theme";
import { cancelUpdate, setEnabled, setManual, switchNotifications, triggerUpdate } from "./actions";
import { buttons, session, showToast, snapshotTime } from "./appState";
import { pressButton } from "../components/ButtonForm";

/** A command that is listed only if `isAvailable` is not false. */
type ConditionalCommand = Command & { isAvailable?: boolean };

export function paletteCommands(): Command[] {
  const names = session.names.value;
  const openResourceCommands = names.map(openResourceCommand);
  // Failing resources come first: they are the ones most likely searched for.
  openResourceCommands.sort((a, b) => Number(b.status === "error") - Number(a.status === "error"));
  const shortcutCommands = shortcuts
    .filter(({ key, isAvailable }) => key.length === 1 && isAvailable?.() !== false)
    .map(({ key, description, run }) => ({ label: description, key, run }));
  const commands: ConditionalCommand[] = [
    ...openResourceCommands,
    ...shortcutCommands,
    ...logCommands(),
    ...pageCommands(),
    ...buttons.inNavigationBar.map((button) => ({
      label: button.spec.text,
      isAvailable: canPress(button),
      run: () => pressButton(button),
    })),
    ...names.flatMap(resourceActions),
  ];
  return commands.filter(({ isAvailable }) => isAvailable !== false);
}

function canPress({ spec }: UIButton): boolean {
  return spec.disabled !== true && snapshotTime.value === undefined;
}

function openResourceCommand(name: string): Command {
  const resource = session.resource(name)?.value;
  return {
    label: name,
    status: resource && overallStatus(resource),
    run: () => navigate({ view: "resource", name }),
  };
}

function logCommands(): ConditionalCommand[] {
  const { copy, download, clear } = logActions;
  if (!copy || !download || !clear) return [];
  return [
    { label: "Copy the lines of the log", run: copy },
    { label: "Download the log", run: download },
    { label: "Clear the log, or show what was cleared", run: clear },
  ];
}

function pageCommands(): ConditionalCommand[] {
  const live = snapshotTime.value === undefined;
  const { counts } = session;
  const disabledNames = session.names.value.filter((name) => {
    const resource = session.resource(name)?.value;
    return resource && isDisabled(resource);
  });
  return [
    ...overallStatuses.map((state) => ({
      label: `Show only: ${overallLabels[state]}`,
      isAvailable: counts.value[state] > 0,
      run: () => {
        statusFilter.value = state;
        navigate({ view: "overview" });
      },
    })),
    {
      label: "Show all resources",
      isAvailable: statusFilter.value !== undefined || nameFilter.value !== "",
      run: () => {
        statusFilter.value = undefined;
        nameFilter.value = "";
        navigate({ view: "overview" });
      },
    },
    { label: "Starred logs", isAvailable: stars.value.length > 0, run: () => navigate({ view: "starred" }) },
    {
      label: "Close all groups",
      run: () => setCollapsedGroups([STARRED, ...session.groups.peek().map(({ key }) => key)]),
    },
    { label: "Open all groups", run: () => setCollapsedGroups([]) },
    {
      label: "Enable all resources",
      isAvailable: live && disabledNames.length > 0,
      run: () => setEnabled(disabledNames, true),
    },
    {
      label: notificationsEnabled.value ? "No more notifications" : "Notify me of failures and recoveries",
      run: () => void switchNotifications(),
    },
    { label: "Save a snapshot", isAvailable: live, run: () => downloadFile("/api/snapshot") },
    { label: "Other sessions of this machine", isAvailable: live, run: openSessionMenu },
    ...themes.map((name) => ({
      label: `Colours: ${themeLabels[name]}`,
      isAvailable: theme.value !== name,
      run: () => setTheme(name),
    })),
  ];
}

function openSessionMenu(): void {
  const summary = document.querySelector<HTMLElement>(".sessions summary");
  summary?.click();
  summary?.focus();
}

function resourceActions(name: string): ConditionalCommand[] {
  const resource = session.resource(name)?.value;
  if (!resource) return [];
  const { status } = resource;
  const live = snapshotTime.value === undefined;
  const disabled = isDisabled(resource);
  const manual = isManual(resource);
  const pod = status.k8sResourceInfo?.podName;
  return [
    { label: `Update ${name} now`, isAvailable: live && !disabled, run: () => triggerUpdate(name) },
    {
      label: `Cancel the update of ${name}`,
      isAvailable: live && canCancel(resource),
      run: () => cancelUpdate(name),
    },
    {
      label: `Disable ${name}`,
      isAvailable: live && !disabled && name !== TILTFILE,
      run: () => setEnabled([name], false),
    },
    { label: `Enable ${name}`, isAvailable: live && disabled, run: () => setEnabled([name], true) },
    {
      label: `Switch ${name} to ${manual ? "Auto" : "Manual"}`,
      isAvailable: live && !disabled,
      run: () => setManual([name], !manual),
    },
    ...buttons.forResource(name).map((button) => ({
      label: `${button.spec.text} (${name})`,
      isAvailable: canPress(button),
      run: () => pressButton(button),
    })),
    ...(status.endpointLinks ?? []).map((link) => {
      const href = safeUrl(link);
      return {
        label: `Open ${endpointLabel(link)} of ${name}`,
        isAvailable: href !== undefined,
        run: () => openUrl(href ?? ""),
      };
    }),
    {
      label: `Copy the pod's name of ${name}`,
      isAvailable: Boolean(pod),
      run: () => void copyText(pod ?? "").then((copied) => showToast(copied ? `Copied ${pod}` : `${pod}`)),
    },
  ];
}
