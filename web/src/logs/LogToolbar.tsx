/** What lines are wanted, and what can be done with them. */

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

/** More lines than these are rather downloaded. */
const MOST_COPIED = 10_000;

/** A container that has started has said something by then. */
const FIRST_WORDS = 2_000;

interface Properties {
  filter: Signal<LogFilter>;
  /** The one resource whose log this is. */
  resource: string | undefined;
  /** The reader may choose whose lines to see. */
  choosable: boolean;
  /** Of the file that they are saved in. */
  name: string;
  /** Lines before this number were cleared away. */
  floor: number;
  matches: MatchCounter;
  onJump: (what: JumpTarget) => void;
  onClear: () => void;
}

export function Toolbar({
  filter,
  resource,
  choosable,
  name: file,
  floor,
  matches,
  onJump,
  onClear,
}: Properties) {
  const change = (part: Partial<LogFilter>) => (filter.value = { ...filter.peek(), ...part });
  return (
    <div class="log-tools">
      <div class="toolbar" role="group" aria-label="Which lines">
        <Search filter={filter} change={change} matches={matches} onJump={onJump} />
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
        {choosable ? <Resources filter={filter} change={change} /> : null}
        {resource === undefined ? null : <Sections resource={resource} filter={filter} change={change} />}
        <span class="pair" role="group" aria-label="Errors">
          <button type="button" title="Previous error (E)" onClick={() => onJump("previous error")}>
            ↑ <ErrorWord />
          </button>
          <button type="button" title="Next error (e)" onClick={() => onJump("next error")}>
            ↓ <ErrorWord />
          </button>
        </span>
        <span class="log-options">
          <button type="button" class="quiet" onClick={() => void copyLines(logQuery(filter.peek()), floor)}>
            Copy
          </button>
          <a class="button quiet" href={logDownloadUrl(logQuery(filter.value), floor, file)} download="">
            Download
          </a>
          <button type="button" class="quiet" onClick={onClear}>
            {floor > 0 ? "Show cleared" : "Clear"}
          </button>
        </span>
      </div>
      <SearchNote filter={filter.value} matches={matches} />
      <Chips filter={filter} change={change} />
    </div>
  );
}

/** Where there is little room, by the sign that such lines have. */
function ErrorWord() {
  return (
    <>
      <span class="error-word">Error</span>
      <span class="error-sign" aria-hidden="true">
        ✕
      </span>
    </>
  );
}

export async function copyLines(query: string, floor: number): Promise<void> {
  try {
    const text = await fetchLogText(query, floor, MOST_COPIED);
    const lines = text === "" ? 0 : text.trimEnd().split("\n").length;
    if (!(await copyText(text))) throw new Error("this browser does not let the page copy");
    showToast(
      `Copied ${lines.toLocaleString()} ${lines === 1 ? "line" : "lines"}${lines >= MOST_COPIED ? ", the newest ones" : ""}`,
    );
  } catch (error) {
    showToast(`Not copied: ${errorMessage(error)}`);
  }
}

export function downloadLines(query: string, floor: number, name: string): void {
  downloadFile(logDownloadUrl(query, floor, name));
}

/** Why nothing is found or marked. */
function SearchNote({ filter, matches }: { filter: LogFilter; matches: MatchCounter }) {
  const failure = matches.failure.value;
  // Where only matches are wanted, it is said in their place.
  const said =
    failure !== undefined && !filter.onlyMatches
      ? readableFailure(failure)
      : failure === undefined
        ? missingHighlightReason(filter.term)
        : "";
  return (
    <div role="status">
      {said && filter.term ? <p class={`search-note${failure ? " failed" : ""}`}>{said}</p> : null}
    </div>
  );
}

type Change = (part: Partial<LogFilter>) => void;

function Search({
  filter,
  change,
  matches,
  onJump,
}: {
  filter: Signal<LogFilter>;
  change: Change;
  matches: MatchCounter;
  onJump: (what: JumpTarget) => void;
}) {
  const { term, onlyMatches } = filter.value;
  const pressed = (event: KeyboardEvent) => {
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
        onKeyDown={pressed}
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

/** Several resources together. */
function Resources({ filter, change }: { filter: Signal<LogFilter>; change: Change }) {
  const chosen = filter.value.resources;
  const wanted = useSignal("");
  const text = wanted.value.trim().toLowerCase();
  // What was chosen when it was opened comes first, so that it can be taken back.
  const first = useSignal<readonly string[]>([]);
  const names = [...new Set([...first.value, ...session.names.value])];
  const put = (name: string, on: boolean) =>
    change({ resources: on ? [...chosen, name] : chosen.filter((other) => other !== name) });
  return (
    <Menu
      summary={
        chosen.length === 0 ? "All resources" : chosen.length === 1 ? chosen[0] : `${chosen.length} resources`
      }
      onOpen={() => {
        first.value = chosen;
        wanted.value = "";
      }}
    >
      {() => (
        <>
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter these resources by name"
            value={wanted.value}
            onInput={(event) => (wanted.value = event.currentTarget.value)}
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
                  onChange={(event) => put(name, event.currentTarget.checked)}
                />
                {name}
              </label>
            ))}
        </>
      )}
    </Menu>
  );
}

/** One pod or container of a resource that had several. */
function Sections({
  resource,
  filter,
  change,
}: {
  resource: string;
  filter: Signal<LogFilter>;
  change: Change;
}) {
  const sections = useSignal<readonly string[]>([]);
  // There are others when its pods are others, and as soon as these have said something.
  const pods = useComputed(() => {
    const { podName, podRestarts, allContainersReady } =
      session.resource(resource)?.value.status.k8sResourceInfo ?? {};
    return [podName, podRestarts, allContainersReady].join();
  });
  const look = () =>
    liveLog.sections(resource).then(
      (found) => (sections.value = found),
      // Without it there is nothing to choose; the log says why if there is no connection.
      () => {},
    );
  useEffect(() => {
    void look();
    const timer = setTimeout(() => void look(), FIRST_WORDS);
    return () => clearTimeout(timer);
  }, [resource, pods.value]);
  const options = labelSections(resource, sections.value);
  if (options.length < 2 && filter.value.span === undefined) return null;
  return (
    <select
      aria-label="Pod or container"
      onFocus={() => void look()}
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

function Chips({ filter, change }: { filter: Signal<LogFilter>; change: Change }) {
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
