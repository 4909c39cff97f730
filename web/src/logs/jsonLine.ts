/** Lines that are JSON objects, as programs with structured logs write them. */

import type { Line } from "../generated/protocol";
import { strip } from "./ansi";

export interface Field {
  /** `request.path` for a member of a member. */
  path: string;
  /** Texts as they are, all else as JSON; the same as the session compares. */
  value: string;
}

export interface Structure {
  /** What the line says, if one of its fields is for that. */
  message: string;
  level: string;
  /** All fields, in order. */
  fields: readonly Field[];
  /** Those that are shown beside the message. */
  rest: readonly Field[];
}

const MESSAGE = ["message", "msg", "event"];
const LEVEL = ["level", "severity", "lvl", "levelname"];
/** The line has its own. */
const TIME = ["time", "timestamp", "ts", "@timestamp"];

/** Longer ones are shown as they are. */
const LONGEST = 20_000;
const DEEPEST = 4;

const known = new WeakMap<Line, Structure | null>();

export function structureOf(line: Line): Structure | undefined {
  const found = known.get(line);
  if (found !== undefined) return found ?? undefined;
  const structure = read(line.text);
  known.set(line, structure ?? null);
  return structure;
}

function read(text: string): Structure | undefined {
  if (text.length > LONGEST || !text.includes("{")) return undefined;
  const bare = strip(text).trim();
  if (!bare.startsWith("{") || !bare.endsWith("}")) return undefined;
  let object: unknown;
  try {
    object = JSON.parse(bare);
  } catch {
    return undefined;
  }
  if (typeof object !== "object" || object === null) return undefined;
  const fields = fieldsOf(object as Record<string, unknown>, "", 0);
  if (fields.length === 0) return undefined;
  const pick = (names: readonly string[]) => fields.find(({ path }) => names.includes(path.toLowerCase()));
  const message = pick(MESSAGE);
  const level = pick(LEVEL);
  const time = pick(TIME);
  return {
    message: message?.value ?? "",
    level: level?.value ?? "",
    fields,
    rest: fields.filter((field) => field !== message && field !== level && field !== time),
  };
}

function fieldsOf(object: Record<string, unknown>, prefix: string, depth: number): Field[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const path = prefix + key;
    if (typeof value === "string") return [{ path, value }];
    const inner = typeof value === "object" && value !== null && !Array.isArray(value);
    if (inner && depth < DEEPEST && Object.keys(value).length > 0) {
      return fieldsOf(value as Record<string, unknown>, `${path}.`, depth + 1);
    }
    return [{ path, value: JSON.stringify(value) }];
  });
}
