/** Lines that are JSON objects, as programs with structured logs write them. */

import type { Line } from "../generated/protocol";
import { stripAnsi } from "./ansi";

export interface Field {
  /** `request.path` for a member of a member. */
  path: string;
  /** Texts as they are, all else as JSON; the same as the session compares. */
  value: string;
}

export interface JsonLine {
  /** What the line says, if one of its fields is for that. */
  message: string;
  level: string;
  /** All fields, in order. */
  fields: readonly Field[];
  /** Those that are shown beside the message. */
  otherFields: readonly Field[];
}

const MESSAGE_FIELDS = ["message", "msg", "event"];
const LEVEL_FIELDS = ["level", "severity", "lvl", "levelname"];
/** The line has its own. */
const TIME_FIELDS = ["time", "timestamp", "ts", "@timestamp"];

/** Longer ones are shown as they are. */
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 4;

const cache = new WeakMap<Line, JsonLine | null>();

export function parseJsonLine(line: Line): JsonLine | undefined {
  const found = cache.get(line);
  if (found !== undefined) return found ?? undefined;
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
