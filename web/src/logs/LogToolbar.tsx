/** The filters of a log, and the actions on its lines. */

import { useComputed, useSignal, type Signal } from "@preact/signals";
import { downloadFile, errorMessage } from "../connection/http";
import { useEffect } from "preact/hooks";
import type { Source } from "../generated/protocol";
import { copyText } from "../model/clipboard";
import { liveLog, session, showToast } from "../app/appState";
import { Menu } from "../components/Menu";
import { regexSource, logQuery, type LevelChoice, type LogFilter } from "./logFilter";
import { readableFailure, missingHighlightReason } from "./searchHighlight";
import { matchSummary, type MatchCounter } from "./matchCounter";
import type { JumpTarget } from "./logActions";
import { labelSections } from "./logSections";
import { logDownloadUrl, fetchLogText } from "./liveLog";

/** Longer logs should be downloaded instead. */
const MAX_COPIED_LINES = 10_000;

/** By then, a container that has started has usually logged something. In milliseconds. */
const FIRST_OUTPUT_DELAY = 2_000;

interface Props {
  filter: Signal<LogFilter>;
  /** The only resource of the log; undefined if there are several. */
  resource: string | undefined;
  /** The user may choose which resources to show. */
  canChooseResources: boolean;
  /** The name of the downloaded file. */
  fileName: string;
  /** Lines before this number were cleared. */
  clearedBefore: number;
  matchCounter: MatchCounter;
  onJump: (target: JumpTarget) => void;
  onClear: () => void;
}

export function LogToolbar({
  filter,
  resource,
  canChooseResources,
  fileName: file,
  clearedBefore,
  matchCounter,
  onJump,
  onClear,
}: Props) {
  const change = (part: Partial<LogFilter>) => (filter.value = { ...filter.peek(), ...part });
  return (
    <div class="log-toolbar">
      <div class="toolbar" role="group" aria-label="Which lines">
        <SearchField filter={filter} change={change} matches={matchCounter} onJump={onJump} />
        <select
          aria-label="Level"
          value={filter.value.level}
          onChange={(event) => change({ level: event.currentTarget.value as LevelChoice })}
        >
          <option value="info">All levels</option>
          <option value="warn">Warnings and errors</option>
          <option value="warnings">Only warnings</option>
          <option value="error">Errors</option>
        </select>
        <select
          aria-label="Source"
          value={filter.value.source ?? ""}
          onChange={(event) =>
            change({ source: (event.currentTarget.value || undefined) as Source | undefined })
          }
        >
          <option value="">Build and runtime</option>
          <option value="build">Build</option>
          <option value="runtime">Runtime</option>
        </select>
        {canChooseResources ? <ResourceMenu filter={filter} change={change} /> : null}
        {resource === undefined ? null : (
          <SectionSelect resource={resource} filter={filter} change={change} />
        )}
        <span class="button-pair" role="group" aria-label="Errors">
          <button type="button" title="Previous error (E)" onClick={() => onJump("previous error")}>
            ↑ <ErrorLabel />
          </button>
          <button type="button" title="Next error (e)" onClick={() => onJump("next error")}>
            ↓ <ErrorLabel />
          </button>
        </span>
        <span class="log-actions">
          <button
            type="button"
            class="quiet"
            onClick={() => void copyLines(logQuery(filter.peek()), clearedBefore)}
          >
            Copy
          </button>
          <a
            class="button quiet"
            href={logDownloadUrl(logQuery(filter.value), clearedBefore, file)}
            download=""
          >
            Download
          </a>
          <button type="button" class="quiet" onClick={onClear}>
            {clearedBefore > 0 ? "Show cleared" : "Clear"}
          </button>
        </span>
      </div>
      <SearchNotice filter={filter.value} matches={matchCounter} />
      <FieldFilters filter={filter} change={change} />
    </div>
  );
}

/** On small screens, the icon that error lines have. */
function ErrorLabel() {
  return (
    <>
      <span class="error-word">Error</span>
      <span class="error-sign" aria-hidden="true">
        ✕
      </span>
    </>
  );
}

export async function copyLines(query: string, clearedBefore: number): Promise<void> {
  try {
    const text = await fetchLogText(query, clearedBefore, MAX_COPIED_LINES);
    const lines = text === "" ? 0 : text.trimEnd().split("\n").length;
    if (!(await copyText(text))) throw new Error("this browser does not let the page copy");
    showToast(
      `Copied ${lines.toLocaleString()} ${lines === 1 ? "line" : "lines"}${lines >= MAX_COPIED_LINES ? ", the newest ones" : ""}`,
    );
  } catch (error) {
    showToast(`Not copied: ${errorMessage(error)}`);
  }
}

export function downloadLines(query: string, clearedBefore: number, name: string): void {
  downloadFile(logDownloadUrl(query, clearedBefore, name));
}

/** Says why nothing is found or highlighted. */
function SearchNotice({ filter, matches }: { filter: LogFilter; matches: MatchCounter }) {
  const failure = matches.failure.value;
  // When only matches are shown, the message replaces the lines instead.
  const note =
    failure !== undefined && !filter.onlyMatches
      ? readableFailure(failure)
      : failure === undefined
        ? missingHighlightReason(filter.term)
        : "";
  return (
    <div role="status">
      {note && filter.term ? <p class={`search-note${failure ? " failed" : ""}`}>{note}</p> : null}
    </div>
  );
}

type Change = (part: Partial<LogFilter>) => void;

function SearchField({
  filter,
  change,
  matches,
  onJump,
}: {
  filter: Signal<LogFilter>;
  change: Change;
  matches: MatchCounter;
  onJump: (target: JumpTarget) => void;
}) {
  const { term, onlyMatches } = filter.value;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    onJump(event.shiftKey ? "previous match" : "next match");
  };
  return (
    <span class="search">
      <input
        type="search"
        data-filter
        placeholder="Text or /regex/"
        aria-label="Filter lines by text"
        aria-description="Enter goes to the next match, Shift and Enter to the previous one"
        value={term}
        class={regexSource(term) === undefined ? "" : "mono"}
        onInput={(event) => change({ term: event.currentTarget.value })}
        onKeyDown={onKeyDown}
      />
      {term === "" ? null : (
        <>
          <span class="match-count" role="status">
            {matchSummary(matches.position.value, matches.total.value)}
          </span>
          <button
            type="button"
            class="quiet"
            aria-label="Previous match"
            onClick={() => onJump("previous match")}
          >
            ↑
          </button>
          <button type="button" class="quiet" aria-label="Next match" onClick={() => onJump("next match")}>
            ↓
          </button>
          <label class="check" title="Hide lines that do not match">
            <input
              type="checkbox"
              checked={onlyMatches}
              onChange={(event) => change({ onlyMatches: event.currentTarget.checked })}
            />
            Only matches
          </label>
        </>
      )}
    </span>
  );
}

/** Chooses the resources whose lines are shown. */
function ResourceMenu({ filter, change }: { filter: Signal<LogFilter>; change: Change }) {
  const chosen = filter.value.resources;
  const nameFilter = useSignal("");
  const text = nameFilter.value.trim().toLowerCase();
  // The resources that were chosen when the menu opened come first, to be found again easily.
  const chosenWhenOpened = useSignal<readonly string[]>([]);
  const names = [...new Set([...chosenWhenOpened.value, ...session.names.value])];
  const setChosen = (name: string, on: boolean) =>
    change({ resources: on ? [...chosen, name] : chosen.filter((other) => other !== name) });
  return (
    <Menu
      summary={
        chosen.length === 0 ? "All resources" : chosen.length === 1 ? chosen[0] : `${chosen.length} resources`
      }
      onOpen={() => {
        chosenWhenOpened.value = chosen;
        nameFilter.value = "";
      }}
    >
      {() => (
        <>
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter these resources by name"
            value={nameFilter.value}
            onInput={(event) => (nameFilter.value = event.currentTarget.value)}
          />
          <button
            type="button"
            class="quiet"
            disabled={chosen.length === 0}
            onClick={() => change({ resources: [] })}
          >
            All resources
          </button>
          {names
            .filter((name) => name.toLowerCase().includes(text))
            .map((name) => (
              <label class="check" key={name}>
                <input
                  type="checkbox"
                  checked={chosen.includes(name)}
                  onChange={(event) => setChosen(name, event.currentTarget.checked)}
                />
                {name}
              </label>
            ))}
        </>
      )}
    </Menu>
  );
}

/** Chooses one pod or container of the resource. */
function SectionSelect({
  resource,
  filter,
  change,
}: {
  resource: string;
  filter: Signal<LogFilter>;
  change: Change;
}) {
  const sections = useSignal<readonly string[]>([]);
  // Changes with the resource's pods, and when they become ready.
  const pods = useComputed(() => {
    const { podName, podRestarts, allContainersReady } =
      session.resource(resource)?.value.status.k8sResourceInfo ?? {};
    return [podName, podRestarts, allContainersReady].join();
  });
  const loadSections = () =>
    liveLog.sections(resource).then(
      (found) => (sections.value = found),
      // Without sections there is nothing to choose; the log shows why a request failed.
      () => {},
    );
  useEffect(() => {
    void loadSections();
    const timer = setTimeout(() => void loadSections(), FIRST_OUTPUT_DELAY);
    return () => clearTimeout(timer);
  }, [resource, pods.value]);
  const options = labelSections(resource, sections.value);
  if (options.length < 2 && filter.value.span === undefined) return null;
  return (
    <select
      aria-label="Pod or container"
      onFocus={() => void loadSections()}
      value={filter.value.span ?? ""}
      onChange={(event) => change({ span: event.currentTarget.value || undefined })}
    >
      <option value="">All that ran</option>
      {options.map(({ span, label }) => (
        <option key={span} value={span}>
          {label}
        </option>
      ))}
    </select>
  );
}

function FieldFilters({ filter, change }: { filter: Signal<LogFilter>; change: Change }) {
  const fields = filter.value.fields;
  if (fields.length === 0) return null;
  return (
    <ul class="field-chips" aria-label="Only lines with">
      {fields.map((field) => (
        <li key={field}>
          <button
            type="button"
            aria-label={`No longer only lines with ${field}`}
            onClick={() => change({ fields: fields.filter((other) => other !== field) })}
          >
            {field} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
