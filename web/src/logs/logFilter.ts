/** Which lines a log shows, as a query to the session and as the query string of the page's URL. */

import type { Level, Source } from "../generated/protocol";

/** A minimum level, or warnings alone. */
export type LevelChoice = Level | "warnings";

export interface LogFilter {
  /** If empty, all resources and lilt's own lines. */
  resources: readonly string[];
  source: Source | undefined;
  level: LevelChoice;
  /** A text, or a regular expression between slashes. Both ignore case, as in Tilt. */
  term: string;
  /** Hides lines without the term; otherwise matches are only highlighted. */
  onlyMatches: boolean;
  /** The log section of a pod, container or server run. */
  span: string | undefined;
  /** `path=value` of JSON lines. */
  fields: readonly string[];
}

export const allLines: LogFilter = {
  resources: [],
  source: undefined,
  level: "info",
  term: "",
  onlyMatches: true,
  span: undefined,
  fields: [],
};

const levels: Record<LevelChoice, readonly Level[]> = {
  // All levels is the default of the session.
  info: [],
  warn: ["warn", "error"],
  warnings: ["warn"],
  error: ["error"],
};

/** Returns the regular expression of a term between slashes; undefined for a text. */
export function regexSource(term: string): string | undefined {
  return term.length > 2 && term.startsWith("/") && term.endsWith("/") ? term.slice(1, -1) : undefined;
}

function addTerm(query: URLSearchParams, term: string): void {
  const regex = regexSource(term);
  // A `(?-i)` in the regular expression makes it case sensitive.
  if (regex !== undefined) query.append("match", `(?i)${regex}`);
  else if (term !== "") query.append("text", term);
}

/** Returns the query of the lines to show. */
export function logQuery(filter: LogFilter): string {
  const query = new URLSearchParams();
  for (const resource of filter.resources) query.append("resource", resource);
  if (filter.source) query.append("source", filter.source);
  for (const level of levels[filter.level]) query.append("level", level);
  if (filter.span) query.append("span", filter.span);
  for (const field of filter.fields) query.append("field", field);
  if (filter.onlyMatches) addTerm(query, filter.term);
  return query.toString();
}

/** Returns the query that finds the next match. */
export function matchQuery(filter: LogFilter): string {
  return logQuery({ ...filter, onlyMatches: true });
}

/** Returns the query that finds the next error. */
export function errorQuery(filter: LogFilter): string {
  return logQuery({ ...filter, level: "error" });
}

/** Parses the query string of the page's URL. `resources` are those in its path. */
export function filterFromUrl(search: string, resources: readonly string[]): LogFilter {
  const query = new URLSearchParams(search);
  const source = query.get("source");
  const level = (Object.keys(levels) as LevelChoice[]).find((name) => name === query.get("level"));
  return {
    resources: resources.length > 0 ? resources : query.getAll("r"),
    source: source === "build" || source === "runtime" ? source : undefined,
    level: level ?? "info",
    term: query.get("term") ?? "",
    onlyMatches: query.get("only") !== "0",
    span: query.get("span") ?? undefined,
    fields: query.getAll("field"),
  };
}

/** Returns the query string for the page's URL. */
export function filterToUrl(filter: LogFilter, inPath: boolean): URLSearchParams {
  const query = new URLSearchParams();
  if (!inPath) for (const resource of filter.resources) query.append("r", resource);
  if (filter.source) query.set("source", filter.source);
  if (filter.level !== "info") query.set("level", filter.level);
  if (filter.term !== "") query.set("term", filter.term);
  if (!filter.onlyMatches) query.set("only", "0");
  if (filter.span) query.set("span", filter.span);
  for (const field of filter.fields) query.append("field", field);
  return query;
}
