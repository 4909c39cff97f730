/** Parses lines that are JSON objects, as structured loggers write them. */

import type { Line } from "../generated/protocol";
import { stripAnsi } from "./ansi";

export interface Field {
  /** For a nested field, for example `request.path`. */
  path: string;
  /** Strings as they are, other values as JSON: the form in which the session filters by fields. */
  value: string;
}

export interface JsonLine {
  /** The value of the message field, if there is one. */
  message: string;
  level: string;
  /** All fields, in their order. */
  fields: readonly Field[];
  /** The fields shown beside the message. */
  otherFields: readonly Field[];
}

const MESSAGE_FIELDS = ["message", "msg", "event"];
const LEVEL_FIELDS = ["level", "severity", "lvl", "levelname"];
/** Not shown, because every line has its own time. */
const TIME_FIELDS = ["time", "timestamp", "ts", "@timestamp"];

/** Longer lines are shown as text. */
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 4;

const cache = new WeakMap<Line, JsonLine | null>();

export function parseJsonLine(line: Line): JsonLine | undefined {
  const cached = cache.get(line);
  if (cached !== undefined) return cached ?? undefined;
  const structure = parseJsonText(line.text);
  cache.set(line, structure ?? null);
  return structure;
}

function parseJsonText(text: string): JsonLine | undefined {
  if (text.length > MAX_LENGTH || !text.includes("{")) return undefined;
  const plainText = stripAnsi(text).trim();
  if (!plainText.startsWith("{") || !plainText.endsWith("}")) return undefined;
  let object: unknown;
  try {
    object = JSON.parse(plainText);
  } catch {
    return undefined;
  }
  if (typeof object !== "object" || object === null) return undefined;
  const fields = fieldsOf(object as Record<string, unknown>, "", 0);
  if (fields.length === 0) return undefined;
  const findField = (names: readonly string[]) =>
    fields.find(({ path }) => names.includes(path.toLowerCase()));
  const message = findField(MESSAGE_FIELDS);
  const level = findField(LEVEL_FIELDS);
  const time = findField(TIME_FIELDS);
  return {
    message: message?.value ?? "",
    level: level?.value ?? "",
    fields,
    otherFields: fields.filter((field) => field !== message && field !== level && field !== time),
  };
}

function fieldsOf(object: Record<string, unknown>, prefix: string, depth: number): Field[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const path = prefix + key;
    if (typeof value === "string") return [{ path, value }];
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && depth < MAX_DEPTH && Object.keys(value).length > 0) {
      return fieldsOf(value as Record<string, unknown>, `${path}.`, depth + 1);
    }
    return [{ path, value: JSON.stringify(value) }];
  });
}
