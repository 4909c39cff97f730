/** Times in words. */

import { signal } from "@preact/signals";

/** The time now, good for "12 s ago": it advances once a second. */
export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    now.value = Date.now();
  });
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

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** Lines that follow each other are mostly of the same second, and formatting is slow. */
const last = { second: NaN, text: "" };

/** `14:03:59`, in the reader's time zone. */
export function timeOfDay(time: string): string {
  const second = Math.floor(Date.parse(time) / 1000);
  if (Number.isNaN(second)) return "";
  if (second !== last.second) Object.assign(last, { second, text: clock.format(second * 1000) });
  return last.text;
}

const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function dateAndTime(time: string): string {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? "" : calendar.format(parsed);
}

const exact = new Intl.DateTimeFormat(undefined, {
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

/** With the day and the milliseconds: a page may be open overnight. */
export function exactTime(time: string): string {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? "" : exact.format(parsed);
}
