/** A log with its toolbar, in sync with the URL. */

import { effect, untracked, useSignal, useSignalEffect, type Signal } from "@preact/signals";
import { errorMessage } from "../connection/http";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { copyText } from "../model/clipboard";
import { activePanel } from "../model/resourcePanel";
import { replaceQueryString, queryString } from "../model/queryString";
import { connection, liveLog, showToast } from "../app/appState";
import { getClearedBefore, toggleCleared } from "./clearedLogs";
import { allLines, errorQuery, matchQuery, logQuery, filterFromUrl, filterToUrl } from "./logFilter";
import type { LogFilter } from "./logFilter";
import {
  currentNameLabels,
  textSizePixels,
  parseJson,
  showTimes,
  wrapLines,
  type DisplayOptions,
} from "./displayOptions";
import { LogLines, type ScrollTarget } from "./LogLines";
import { MatchCounter } from "./matchCounter";
import { highlightRegex, plainSearchText } from "./searchHighlight";
import { registerLogActions, type JumpTarget } from "./logActions";
import { copyLines, downloadLines, LogToolbar } from "./LogToolbar";
import { LogWindow, type PageStart } from "./logWindow";

/** Typing changes the URL and the query only after a pause of this many milliseconds. */
const TYPING_PAUSE = 150;

interface Props {
  /** Undefined for the log of several resources. */
  resource: string | undefined;
  /** The starred resources, if only their log is shown. */
  starred?: readonly string[];
}

export function LogPane({ resource, starred }: Props) {
  const fixedResources = starred ?? (resource === undefined ? [] : [resource]);
  /** The path of the URL says which resources are shown. */
  const resourcesInPath = fixedResources.length > 0;
  const filter = useSignal(filterFromUrl(queryString.peek(), fixedResources));
  const appliedFilter = useDebouncedFilter(filter);
  const linkedSeq = useSignal(lineInUrl(queryString.peek())?.seq);
  const cursor = useSignal<number | undefined>(undefined);
  /** The session of the linked line; undefined is the current one. */
  const linkedSession = useRef(lineInUrl(queryString.peek())?.session);
  /** The URL links to a line of another session. */
  const isOtherSession = useSignal(false);
  const matchCounter = useMemo(() => new MatchCounter(liveLog), []);
  const scrollTarget = useSignal<ScrollTarget | undefined>(undefined);
  const following = useSignal(linkedSeq.peek() === undefined);
  const session = liveLog.session.value;
  const logName = resource ?? (starred ? "starred" : "all");
  // No resource can have this name.
  const logKey = resource ?? `(${logName})`;
  const clearedBefore = getClearedBefore(session, logKey);
  const lineQuery = logQuery(appliedFilter.value);
  /** The log that the last window belonged to. */
  const lastOpened = useRef<{ session: string; clearedBefore: number } | undefined>(undefined);
  const logWindow = useMemo(
    () => new LogWindow(liveLog, lineQuery, clearedBefore),
    [lineQuery, clearedBefore, session],
  );

  useEffect(() => {
    if (session === "") return;
    if (
      linkedSeq.peek() !== undefined &&
      linkedSession.current !== undefined &&
      linkedSession.current !== session
    ) {
      isOtherSession.value = true;
      linkedSeq.value = undefined;
    }
    const initialSeq = linkedSeq.peek();
    const isSameLog =
      lastOpened.current?.session === session && lastOpened.current.clearedBefore === clearedBefore;
    lastOpened.current = { session, clearedBefore };
    if (initialSeq !== undefined) void jump(initialSeq);
    // A changed filter keeps the place of users who read older lines.
    else if (isSameLog && !following.peek()) void jump(firstVisibleSeq(), false);
    else {
      following.value = true;
      void logWindow.openAtEnd();
    }
    return () => logWindow.close();
  }, [logWindow]);
  // Matches are counted in the whole session, not only among the loaded lines.
  const searchQuery = appliedFilter.value.term === "" ? undefined : matchQuery(appliedFilter.value);
  useEffect(() => {
    if (session === "" || searchQuery === undefined) return;
    let started = false;
    const dispose = effect(() => {
      // Loading lines comes before counting.
      if (started || logWindow.loading.value) return;
      started = true;
      untracked(() => {
        matchCounter.start(searchQuery, clearedBefore);
        void matchCounter.setCurrentLine(linkedSeq.peek());
      });
    });
    return () => {
      dispose();
      matchCounter.stop();
    };
  }, [logWindow, searchQuery]);
  useSignalEffect(() => matchCounter.logGrew(liveLog.extent.value.end));
  // Requests that failed without a connection are retried with the next one.
  useSignalEffect(() => {
    if (connection.state.value !== "open") return;
    logWindow.retry();
    if (searchQuery !== undefined && matchCounter.failure.peek() !== undefined)
      matchCounter.start(searchQuery, clearedBefore);
  });
  useSignalEffect(() => {
    const seq = linkedSeq.value;
    if (seq !== undefined) cursor.value = seq;
    if (appliedFilter.peek().term !== "") void matchCounter.setCurrentLine(seq);
  });

  // Two-way sync: the filter is written into the URL, and a changed URL is applied.
  useSignalEffect(() => {
    const currentSession = liveLog.session.value;
    // Without the session, a line number in the URL means nothing.
    if (currentSession === "") return;
    const urlQuery = filterToUrl(appliedFilter.value, resourcesInPath);
    if (resource !== undefined && activePanel.value !== "none") urlQuery.set("panel", activePanel.value);
    if (linkedSeq.value !== undefined) {
      urlQuery.set("session", linkedSession.current ?? currentSession);
      urlQuery.set("line", String(linkedSeq.value));
    }
    replaceQueryString(urlQuery);
  });
  useSignalEffect(() => {
    const urlQuery = queryString.value;
    const appliedQuery = filterToUrl(appliedFilter.peek(), resourcesInPath);
    const filterInUrl = filterFromUrl(urlQuery, fixedResources);
    if (filterToUrl(filterInUrl, resourcesInPath).toString() !== appliedQuery.toString())
      filter.value = filterInUrl;
    const line = lineInUrl(urlQuery);
    if (line === undefined || line.seq === linkedSeq.peek()) return;
    if (line.session === undefined || line.session === liveLog.session.peek()) void jump(line.seq);
  });

  const jump = async (seq: number, asLinked = true) => {
    isOtherSession.value = false;
    linkedSession.current = liveLog.session.peek();
    following.value = false;
    linkedSeq.value = asLinked ? seq : undefined;
    if (!logWindow.has(seq) && !(await logWindow.openAt(seq))) return;
    scrollTarget.value = { seq };
  };
  const follow = () => {
    linkedSeq.value = undefined;
    scrollTarget.value = undefined;
    following.value = true;
    if (logWindow.isAtEnd) logWindow.version.value++;
    else void logWindow.openAtEnd();
  };
  const jumpTo = async (target: JumpTarget) => {
    const startSeq = linkedSeq.peek() ?? searchStart(logWindow, following.peek());
    const pageStart: PageStart = target.startsWith("next") ? { from: startSeq + 1 } : { before: startSeq };
    const query = target.endsWith("error") ? errorQuery(appliedFilter.peek()) : matchQuery(filter.peek());
    try {
      const seq = await logWindow.find(query, pageStart, !target.endsWith("error"));
      if (seq !== undefined) await jump(seq);
      else showToast(`There is no ${target}.`);
    } catch (error) {
      if (!(error instanceof DOMException)) showToast(errorMessage(error));
    }
  };
  const copyLink = async (seq: number) => {
    linkedSession.current = liveLog.session.peek();
    following.value = false;
    linkedSeq.value = seq;
    const address = new URL(`${options.lineUrl}line=${seq}`, location.href);
    const copied = await copyText(address.href);
    showToast(copied ? "Copied the link to this line" : "The address bar has the link to this line");
  };
  const clear = () => {
    linkedSeq.value = undefined;
    cursor.value = undefined;
    toggleCleared(session, logKey, liveLog.extent.peek().end);
  };
  const name = `${logName}.log`;
  useEffect(() =>
    registerLogActions({
      jump: (target) => void jumpTo(target),
      follow,
      clear,
      clearFilter: () => {
        const current = { ...filter.peek(), resources: resourcesInPath ? [] : filter.peek().resources };
        if (!hidesLines(current) && current.term === "") return false;
        filter.value = { ...allLines, resources: fixedResources, onlyMatches: current.onlyMatches };
        return true;
      },
      copy: () => void copyLines(logQuery(filter.peek()), clearedBefore),
      download: () => downloadLines(logQuery(filter.peek()), clearedBefore, name),
      copyLineLink: () => {
        if (cursor.peek() !== undefined) void copyLink(cursor.peek() ?? 0);
        else showToast("No line is chosen: the arrow keys choose one");
      },
    }),
  );
  const term = appliedFilter.value.term;
  const options = useMemo<DisplayOptions>(() => {
    const urlQuery = filterToUrl(appliedFilter.value, resourcesInPath);
    urlQuery.set("session", session);
    return {
      showTimes: showTimes.value,
      wrap: wrapLines.value,
      parseJson: parseJson.value,
      nameLabels: resource === undefined ? currentNameLabels.value : undefined,
      highlight: highlightRegex(term),
      searchText: plainSearchText(term),
      lineUrl: `?${urlQuery}&`,
    };
  }, [
    showTimes.value,
    wrapLines.value,
    parseJson.value,
    currentNameLabels.value,
    appliedFilter.value,
    resource,
    session,
  ]);
  const isNarrowed = hidesLines({ ...appliedFilter.value, resources: [] });
  return (
    <section
      class="log"
      aria-label={resource ? `Log of ${resource}` : `Log of ${logName} resources`}
      style={{ "--log-font-size": `${textSizePixels()}px` }}
    >
      <LogToolbar
        filter={filter}
        resource={resource}
        canChooseResources={!resourcesInPath}
        fileName={name}
        clearedBefore={clearedBefore}
        matchCounter={matchCounter}
        onJump={(target) => void jumpTo(target)}
        onClear={clear}
      />
      {isOtherSession.value ? (
        <p class="log-note" role="status">
          The link leads to a line of another session, whose log is not here. This is the log of the session
          that runs now.
          <button type="button" class="quiet" onClick={() => (isOtherSession.value = false)}>
            Dismiss
          </button>
        </p>
      ) : null}
      <LogLines
        window={logWindow}
        options={options}
        linkedSeq={linkedSeq}
        cursor={cursor}
        scrollTarget={scrollTarget}
        following={following}
        emptyText={
          isNarrowed
            ? "No line matches."
            : clearedBefore > 0
              ? "Cleared. New lines come here."
              : "No lines yet."
        }
        onJump={(seq) => void jump(seq, false)}
        onFollow={follow}
        onLink={(seq) => void copyLink(seq)}
        onField={(field) => {
          const fields = filter.peek().fields;
          if (!fields.includes(field)) filter.value = { ...filter.peek(), fields: [...fields, field] };
        }}
      />
    </section>
  );
}

/** Returns whether the filter hides lines. */
function hidesLines(filter: LogFilter): boolean {
  return logQuery(filter) !== logQuery(allLines);
}

/**
 * Returns where the search for the next match starts: at the end while following, otherwise at the first visible
 * line.
 */
function searchStart(window: LogWindow, following: boolean): number {
  return following ? (window.rows.at(-1)?.seq ?? 0) + 1 : firstVisibleSeq();
}

function firstVisibleSeq(): number {
  return Number(document.getElementById("log-lines")?.dataset["first"] ?? 0);
}

interface LinkedLine {
  seq: number;
  /** Undefined in links without a session. */
  session: string | undefined;
}

function lineInUrl(urlQuery: string): LinkedLine | undefined {
  const query = new URLSearchParams(urlQuery);
  const text = query.get("line");
  if (text === null || !/^\d{1,15}$/.test(text)) return undefined;
  return { seq: Number(text), session: query.get("session") ?? undefined };
}

/** Returns the filter with a search term that changes only after a pause in typing. */
function useDebouncedFilter(filter: Signal<LogFilter>): Signal<LogFilter> {
  const debounced = useSignal(filter.peek());
  useEffect(() => {
    const termChanged = filter.value.term !== debounced.peek().term;
    const timer = setTimeout(() => (debounced.value = filter.value), termChanged ? TYPING_PAUSE : 0);
    return () => clearTimeout(timer);
  }, [filter.value]);
  return debounced;
}
