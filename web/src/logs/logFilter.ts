/** Which lines a reader wants, as the session is asked for them and as the page's address says it. */

import type { Level, Source } from "../generated/protocol";

/** A level and what is worse, or warnings alone. */
export type LevelChoice = Level | "warnings";

export interface LogFilter {
  /** None: all of them, and lilt's own lines. */
  resources: readonly string[];
  source: Source | undefined;
  level: LevelChoice;
  /** A text, or a regular expression between slashes; in both capitals and small letters are alike, as under Tilt. */
  term: string;
  /** Lines without the term are hidden; else it is only marked. */
  onlyMatches: boolean;
  /** A pod, or a container of it. */
  span: string | undefined;
  /** `path=value` of lines that are JSON objects. */
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
  // All levels is what goes without saying.
  info: [],
  warn: ["warn", "error"],
  warnings: ["warn"],
  error: ["error"],
};

/** `/…/` is a regular expression, anything else a text. */
export function regexSource(term: string): string | undefined {
  return term.length > 2 && term.startsWith("/") && term.endsWith("/") ? term.slice(1, -1) : undefined;
}

function addTerm(query: URLSearchParams, term: string): void {
  const regex = regexSource(term);
  // `(?-i)` in the expression takes it back.
  if (regex !== undefined) query.append("match", `(?i)${regex}`);
  else if (term !== "") query.append("text", term);
}

/** For the session. */
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

/** What to look for from match to match. */
export function matchQuery(filter: LogFilter): string {
  return logQuery({ ...filter, onlyMatches: true });
}

/** What to look for from error to error: none of the headlines that come with a level. */
export function errorQuery(filter: LogFilter): string {
  return logQuery({ ...filter, level: "error" });
}

/** From the address; `resources` is what its path says. */
export function filterFromUrl(search: string, resources: readonly string[]): LogFilter {
  const query = new URLSearchParams(search);
  const source = query.get("source");
  const level = (Object.keys(levels) as LevelChoice[]).find((known) => known === query.get("level"));
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

/** For the address; of `resources` only what its path does not say. */
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
