/** A log with its filters. */

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
  pixels,
  parseJson,
  showTimes,
  wrapLines,
  type DisplayOptions,
} from "./displayOptions";
import { Lines, type Place } from "./LogLines";
import { MatchCounter } from "./matchCounter";
import { highlightRegex, plainSearchText } from "./searchHighlight";
import { registerLogActions, type JumpTarget } from "./logActions";
import { copyLines, downloadLines, Toolbar } from "./LogToolbar";
import { LogWindow, type PageStart } from "./logWindow";

/** Typing changes the address and the question only when it pauses. */
const PAUSE = 150;

interface Properties {
  /** Undefined: that of several. */
  resource: string | undefined;
  /** Only of these; undefined: of all. */
  starred?: readonly string[];
}

export function LogPane({ resource, starred }: Properties) {
  const own = starred ?? (resource === undefined ? [] : [resource]);
  /** Whose lines they are is in the path of the address. */
  const inPath = own.length > 0;
  const filter = useSignal(filterFromUrl(queryString.peek(), own));
  const settled = useSettled(filter);
  const target = useSignal(lineIn(queryString.peek())?.seq);
  const cursor = useSignal<number | undefined>(undefined);
  /** The session of that line; undefined: the one that there is. */
  const whose = useRef(lineIn(queryString.peek())?.session);
  /** The address leads to a line of a session that is not this one. */
  const elsewhere = useSignal(false);
  const matches = useMemo(() => new MatchCounter(liveLog), []);
  const place = useSignal<Place | undefined>(undefined);
  const following = useSignal(target.peek() === undefined);
  const session = liveLog.session.value;
  const called = resource ?? (starred ? "starred" : "all");
  // No resource has such a name.
  const key = resource ?? `(${called})`;
  const floor = getClearedBefore(session, key);
  const query = logQuery(settled.value);
  /** Of what the last window was. */
  const opened = useRef<{ session: string; floor: number } | undefined>(undefined);
  const window = useMemo(() => new LogWindow(liveLog, query, floor), [query, floor, session]);

  useEffect(() => {
    if (session === "") return;
    if (target.peek() !== undefined && whose.current !== undefined && whose.current !== session) {
      elsewhere.value = true;
      target.value = undefined;
    }
    const wanted = target.peek();
    const same = opened.current?.session === session && opened.current.floor === floor;
    opened.current = { session, floor };
    if (wanted !== undefined) void jump(wanted);
    // Another filter leaves those who read older lines where they are.
    else if (same && !following.peek()) void jump(firstInSight(), false);
    else {
      following.value = true;
      void window.openAtEnd();
    }
    return () => window.close();
  }, [window]);
  // Matches are counted over the whole session, not only in what is held of it.
  const searched = settled.value.term === "" ? undefined : matchQuery(settled.value);
  useEffect(() => {
    if (session === "" || searched === undefined) return;
    let started = false;
    const dispose = effect(() => {
      // The lines themselves come first.
      if (started || window.loading.value) return;
      started = true;
      untracked(() => {
        matches.start(searched, floor);
        void matches.setCurrentLine(target.peek());
      });
    });
    return () => {
      dispose();
      matches.stop();
    };
  }, [window, searched]);
  useSignalEffect(() => matches.logGrew(liveLog.extent.value.end));
  // What failed for lack of a connection is asked for again when there is one.
  useSignalEffect(() => {
    if (connection.state.value !== "open") return;
    window.retry();
    if (searched !== undefined && matches.failure.peek() !== undefined) matches.start(searched, floor);
  });
  useSignalEffect(() => {
    const seq = target.value;
    if (seq !== undefined) cursor.value = seq;
    if (settled.peek().term !== "") void matches.setCurrentLine(seq);
  });

  // What is shown is in the address, and what the address says is shown.
  useSignalEffect(() => {
    const known = liveLog.session.value;
    // Before the session is known, it is not known what the address means.
    if (known === "") return;
    const said = filterToUrl(settled.value, inPath);
    if (resource !== undefined && activePanel.value !== "none") said.set("panel", activePanel.value);
    if (target.value !== undefined) {
      said.set("session", whose.current ?? known);
      said.set("line", String(target.value));
    }
    replaceQueryString(said);
  });
  useSignalEffect(() => {
    const said = queryString.value;
    const shown = filterToUrl(settled.peek(), inPath);
    const now = filterFromUrl(said, own);
    if (filterToUrl(now, inPath).toString() !== shown.toString()) filter.value = now;
    const line = lineIn(said);
    if (line === undefined || line.seq === target.peek()) return;
    if (line.session === undefined || line.session === liveLog.session.peek()) void jump(line.seq);
  });

  const jump = async (seq: number, mark = true) => {
    elsewhere.value = false;
    whose.current = liveLog.session.peek();
    following.value = false;
    target.value = mark ? seq : undefined;
    if (!window.has(seq) && !(await window.openAt(seq))) return;
    place.value = { seq };
  };
  const follow = () => {
    target.value = undefined;
    place.value = undefined;
    following.value = true;
    if (window.isAtEnd) window.version.value++;
    else void window.openAtEnd();
  };
  const find = async (what: JumpTarget) => {
    const place = target.peek() ?? placeOf(window, following.peek());
    const way: PageStart = what.startsWith("next") ? { from: place + 1 } : { before: place };
    const question = what.endsWith("error") ? errorQuery(settled.peek()) : matchQuery(filter.peek());
    try {
      const found = await window.find(question, way, !what.endsWith("error"));
      if (found !== undefined) await jump(found);
      else showToast(`There is no ${what}.`);
    } catch (error) {
      if (!(error instanceof DOMException)) showToast(errorMessage(error));
    }
  };
  const link = async (seq: number) => {
    whose.current = liveLog.session.peek();
    following.value = false;
    target.value = seq;
    const address = new URL(`${looks.lineUrl}line=${seq}`, location.href);
    const copied = await copyText(address.href);
    showToast(copied ? "Copied the link to this line" : "The address bar has the link to this line");
  };
  const clear = () => {
    target.value = undefined;
    cursor.value = undefined;
    toggleCleared(session, key, liveLog.extent.peek().end);
  };
  const name = `${called}.log`;
  useEffect(() =>
    registerLogActions({
      jump: (what) => void find(what),
      follow,
      clear,
      clearFilter: () => {
        const shown = { ...filter.peek(), resources: inPath ? [] : filter.peek().resources };
        if (!narrows(shown) && shown.term === "") return false;
        filter.value = { ...allLines, resources: own, onlyMatches: shown.onlyMatches };
        return true;
      },
      copy: () => void copyLines(logQuery(filter.peek()), floor),
      download: () => downloadLines(logQuery(filter.peek()), floor, name),
      copyLineLink: () => {
        if (cursor.peek() !== undefined) void link(cursor.peek() ?? 0);
        else showToast("No line is chosen: the arrow keys choose one");
      },
    }),
  );
  const term = settled.value.term;
  const looks = useMemo<DisplayOptions>(() => {
    const said = filterToUrl(settled.value, inPath);
    said.set("session", session);
    return {
      showTimes: showTimes.value,
      wrap: wrapLines.value,
      parseJson: parseJson.value,
      nameLabels: resource === undefined ? currentNameLabels.value : undefined,
      highlight: highlightRegex(term),
      searchText: plainSearchText(term),
      lineUrl: `?${said}&`,
    };
  }, [
    showTimes.value,
    wrapLines.value,
    parseJson.value,
    currentNameLabels.value,
    settled.value,
    resource,
    session,
  ]);
  const narrowed = narrows({ ...settled.value, resources: [] });
  return (
    <section
      class="log"
      aria-label={resource ? `Log of ${resource}` : `Log of ${called} resources`}
      style={{ "--letters": `${pixels()}px` }}
    >
      <Toolbar
        filter={filter}
        resource={resource}
        choosable={!inPath}
        name={name}
        floor={floor}
        matches={matches}
        onJump={(what) => void find(what)}
        onClear={clear}
      />
      {elsewhere.value ? (
        <p class="log-note" role="status">
          The link leads to a line of another session, whose log is not here. This is the log of the session
          that runs now.
          <button type="button" class="quiet" onClick={() => (elsewhere.value = false)}>
            Dismiss
          </button>
        </p>
      ) : null}
      <Lines
        window={window}
        looks={looks}
        target={target}
        cursor={cursor}
        place={place}
        following={following}
        empty={narrowed ? "No line matches." : floor > 0 ? "Cleared. New lines come here." : "No lines yet."}
        onJump={(seq) => void jump(seq, false)}
        onFollow={follow}
        onLink={(seq) => void link(seq)}
        onField={(field) => {
          const fields = filter.peek().fields;
          if (!fields.includes(field)) filter.value = { ...filter.peek(), fields: [...fields, field] };
        }}
      />
    </section>
  );
}

/** Whether there are lines that the filter hides. */
function narrows(filter: LogFilter): boolean {
  return logQuery(filter) !== logQuery(allLines);
}

/** From where to look for the next match: the end if one follows, else what is in sight. */
function placeOf(window: LogWindow, following: boolean): number {
  return following ? (window.rows.at(-1)?.seq ?? 0) + 1 : firstInSight();
}

function firstInSight(): number {
  return Number(document.getElementById("log-lines")?.dataset["first"] ?? 0);
}

interface LinkedLine {
  seq: number;
  /** Whose; undefined in links that somebody wrote by hand. */
  session: string | undefined;
}

function lineIn(said: string): LinkedLine | undefined {
  const query = new URLSearchParams(said);
  const text = query.get("line");
  if (text === null || !/^\d{1,15}$/.test(text)) return undefined;
  return { seq: Number(text), session: query.get("session") ?? undefined };
}

/** The same, but what is being typed only when that pauses. */
function useSettled(filter: Signal<LogFilter>): Signal<LogFilter> {
  const settled = useSignal(filter.peek());
  useEffect(() => {
    const typed = filter.value.term !== settled.peek().term;
    const timer = setTimeout(() => (settled.value = filter.value), typed ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [filter.value]);
  return settled;
}
