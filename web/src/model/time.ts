/** The page's clock, and the formats of times and durations. */

import { signal } from "@preact/signals";

/** The current time for texts such as "12 s ago": it advances once a second. */
export const now = signal(Date.now());

let frozen = false;

/** Starts the clock. It stops while `isRunning` returns false: without a connection, ages must not grow. */
export function startClock(isRunning: () => boolean): void {
  const tick = () => {
    if (!document.hidden && !frozen && isRunning()) now.value = Date.now();
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
}

/** Stops the clock at a time: a snapshot shows ages and durations as of when it was taken. */
export function freezeClock(at: string): void {
  const time = Date.parse(at);
  if (Number.isNaN(time)) return;
  frozen = true;
  now.value = time;
}

export function formatAge(time: string, current: number): string {
  const seconds = Math.max(0, Math.round((current - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const remainder = seconds % 60;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return remainder === 0 ? `${minutes} min` : `${minutes} min ${remainder} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Formats the duration of something that is still running: without fractions, since the clock ticks once a second.
 */
export function formatWholeSeconds(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

export function formatElapsed(start: string | null | undefined, end: string | null | undefined): string {
  if (!start || !end) return "";
  const ms = Date.parse(end) - Date.parse(start);
  return Number.isNaN(ms) ? "" : formatDuration(ms);
}

const digits = (value: number) => String(value).padStart(2, "0");

/** Formats a time as `14:03:59` in the user's time zone. `Intl.DateTimeFormat` is too slow for every log line. */
export function formatTimeOfDay(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(digits).join(":");
}

/** Formats in the user's language. The formatter is created at its first use, to keep it out of the first paint. */
function lazyDateFormat(options: Intl.DateTimeFormatOptions): (time: string) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (time) => {
    const parsed = Date.parse(time);
    if (Number.isNaN(parsed)) return "";
    format ??= new Intl.DateTimeFormat(undefined, options);
    return format.format(parsed);
  };
}

export const formatDateTime = lazyDateFormat({ dateStyle: "medium", timeStyle: "short" });

/** With day and milliseconds: a page may stay open overnight. */
export const formatExactTime = lazyDateFormat({
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});
