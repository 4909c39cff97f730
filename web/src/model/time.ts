/** Times in words. */

import { signal } from "@preact/signals";

/** The time now, good for "12 s ago": it advances once a second. */
export const now = signal(Date.now());

let frozen = false;

/** It stands still while `runs` says so: what is not known to be still true does not grow older. */
export function startClock(isRunning: () => boolean): void {
  const tick = () => {
    if (!document.hidden && !frozen && isRunning()) now.value = Date.now();
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
}

/** Stops the clock at this time: in a snapshot, ages and durations are those of when it was made. */
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

/** For what is still running: the clock ticks no faster. */
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

/** `14:03:59`, in the reader's time zone. By hand: the browser's own formats are slow to make, and every line has one. */
export function formatTimeOfDay(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(digits).join(":");
}

/** As the reader's language has it. Made when it is first wanted: before that it would be in the way of the first paint. */
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

/** With the day and the milliseconds: a page may be open overnight. */
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
