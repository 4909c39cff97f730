/** Times in words. */

import { signal } from "@preact/signals";

/** The time now, good for "12 s ago": it advances once a second. */
export const now = signal(Date.now());

let frozen = false;

/** It stands still while `runs` says so: what is not known to be still true does not grow older. */
export function startClock(runs: () => boolean): void {
  const look = () => {
    if (!document.hidden && !frozen && runs()) now.value = Date.now();
  };
  setInterval(look, 1000);
  document.addEventListener("visibilitychange", look);
}

/** Stops the clock at this time: in a snapshot, ages and durations are those of when it was made. */
export function freezeClock(at: string): void {
  const time = Date.parse(at);
  if (Number.isNaN(time)) return;
  frozen = true;
  now.value = time;
}

export function ago(then: string, at: number): string {
  const seconds = Math.max(0, Math.round((at - Date.parse(then)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** For what is still running: the clock ticks no faster. */
export function wholeSeconds(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1000);
}

export function between(start: string | null | undefined, end: string | null | undefined): string {
  if (!start || !end) return "";
  const ms = Date.parse(end) - Date.parse(start);
  return Number.isNaN(ms) ? "" : duration(ms);
}

const digits = (value: number) => String(value).padStart(2, "0");

/** `14:03:59`, in the reader's time zone. By hand: the browser's own formats are slow to make, and every line has one. */
export function timeOfDay(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(digits).join(":");
}

/** As the reader's language has it. Made when it is first wanted: before that it would be in the way of the first paint. */
function formatted(options: Intl.DateTimeFormatOptions): (time: string) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (time) => {
    const parsed = Date.parse(time);
    if (Number.isNaN(parsed)) return "";
    format ??= new Intl.DateTimeFormat(undefined, options);
    return format.format(parsed);
  };
}

export const dateAndTime = formatted({ dateStyle: "medium", timeStyle: "short" });

/** With the day and the milliseconds: a page may be open overnight. */
export const exactTime = formatted({
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
