/**
 * Own drawings for the names of Material icons that Tiltfiles use most: no font is loaded from another server. An
 * unknown name gets the icon that Tilt gives to buttons without one.
 */

interface IconDrawing {
  names: readonly string[];
  path: string;
}

const drawings: readonly IconDrawing[] = [
  {
    names: ["delete", "delete_forever", "delete_sweep", "cleaning_services"],
    path: "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.5v4.5M9.3 6.5v4.5",
  },
  {
    names: ["refresh", "restart_alt", "replay", "autorenew", "cached", "sync", "loop"],
    path: "M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3",
  },
  { names: ["play_arrow", "play_circle", "start", "not_started"], path: "M5 3l7.5 5L5 13z" },
  { names: ["stop", "stop_circle"], path: "M4 4h8v8H4z" },
  { names: ["pause", "pause_circle"], path: "M5.5 3.5v9M10.5 3.5v9" },
  {
    names: ["bug_report", "pest_control", "adb"],
    path: "M5 6.5h6v3.5a3 3 0 0 1-6 0zM6 6.5a2 2 0 0 1 4 0M2.5 5.5L5 7M13.5 5.5L11 7M2 9h3M11 9h3M2.5 13L5 11.2M13.5 13L11 11.2",
  },
  {
    names: ["science", "biotech", "checklist", "fact_check", "rule"],
    path: "M6.5 2v4L3 12.5a1 1 0 0 0 1 1.5h8a1 1 0 0 0 1-1.5L9.5 6V2M5.5 2h5M4.8 10h6.4",
  },
  {
    names: ["storage", "dns", "database", "table_view", "dataset"],
    path: "M3 4.2c0-2.4 10-2.4 10 0s-10 2.4-10 0v7.6c0 2.4 10 2.4 10 0V4.2M3 8c0 2.4 10 2.4 10 0",
  },
  {
    names: ["build", "construction", "handyman", "hardware", "engineering"],
    path: "M13.5 4.5a3.3 3.3 0 0 1-4.4 4L4.6 13a1.4 1.4 0 0 1-2-2l4.6-4.4a3.3 3.3 0 0 1 4-4.4L9.3 4.1l2.3 2.3z",
  },
  {
    names: ["settings", "tune", "build_circle", "manufacturing"],
    path: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 4.5a1.5 1.5 0 1 1 0 .01M6 11.5a1.5 1.5 0 1 1 0 .01",
  },
  {
    names: ["cloud_upload", "upload", "file_upload", "publish", "backup"],
    path: "M8 10.5v-8M4.8 5.5L8 2.3l3.2 3.2M2.5 10v3.5h11V10",
  },
  {
    names: ["cloud_download", "download", "file_download", "get_app", "save_alt"],
    path: "M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M2.5 10.5v3h11v-3",
  },
  {
    names: ["add", "add_circle", "add_box", "library_add"],
    path: "M8 3v10M3 8h10",
  },
  { names: ["remove", "remove_circle"], path: "M3 8h10" },
  { names: ["close", "cancel", "clear", "block"], path: "M4 4l8 8M12 4l-8 8" },
  {
    names: ["check", "check_circle", "done", "done_all", "task_alt", "verified"],
    path: "M3 8.5l3.3 3.3L13 5",
  },
  {
    names: ["terminal", "code", "data_object", "integration_instructions"],
    path: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5H11",
  },
  {
    names: ["person", "account_circle", "person_add", "manage_accounts"],
    path: "M8 8a2.7 2.7 0 1 0-.01 0M3 13.5a5 4 0 0 1 10 0",
  },
  {
    names: ["group", "groups", "people"],
    path: "M6 7.5a2.3 2.3 0 1 0-.01 0M1.8 13a4.3 4 0 0 1 8.4 0M10.5 3.2a2.3 2.3 0 0 1 .5 4.3M12 9.6a4 4 0 0 1 2.3 3.4",
  },
  {
    names: ["lock", "vpn_key", "key", "password", "security", "admin_panel_settings"],
    path: "M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2M8 9.5v2",
  },
  {
    names: ["open_in_new", "launch", "open_in_browser", "link"],
    path: "M7 3.5H3v9.5h9.5V9M9.5 2.5h4v4M13.2 2.8L7.5 8.5",
  },
  {
    names: ["rocket", "rocket_launch", "flight_takeoff", "send"],
    path: "M2.5 8.5l11-6-4 11-2.2-4.8z",
  },
  {
    names: ["description", "article", "notes", "feed", "receipt_long", "summarize"],
    path: "M3.5 2h6L12.5 5v9h-9zM5.5 7h5M5.5 9.5h5M5.5 12h3",
  },
  { names: ["folder", "folder_open", "create_new_folder"], path: "M2 4h4.5L8 5.7h6V13H2z" },
  { names: ["edit", "create", "mode_edit"], path: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z" },
  {
    names: ["search", "find_in_page", "manage_search"],
    path: "M7 11.2a4.2 4.2 0 1 0-.01 0M10.2 10.2l3.6 3.6",
  },
  { names: ["schedule", "timer", "history", "update"], path: "M8 14A6 6 0 1 0 7.99 14M8 4.5V8l2.5 1.7" },
  { names: ["warning", "report_problem", "error", "report"], path: "M8 2.2L14.2 13H1.8zM8 6.5v3M8 11.2v.3" },
  { names: ["info", "help", "help_outline"], path: "M8 14A6 6 0 1 0 7.99 14M8 7.3v3.5M8 5v.3" },
  {
    names: ["cloud", "cloud_queue", "cloud_sync"],
    path: "M4.5 12.5a3 3 0 0 1 0-6 4 4 0 0 1 7.5.8 2.7 2.7 0 0 1 0 5.2z",
  },
  {
    names: ["star", "grade", "auto_awesome"],
    path: "M8 1.8l1.9 4 4.3.6-3.1 3 .8 4.3L8 11.6l-3.9 2.1.8-4.3-3.1-3 4.3-.6z",
  },
  { names: ["circle", "fiber_manual_record", "lens"], path: "M8 13A5 5 0 1 0 7.99 13" },
  {
    names: ["power_settings_new", "power", "bolt", "flash_on", "electric_bolt"],
    path: "M9 1.8L3.5 9H8l-1 5.2L12.5 7H8z",
  },
  {
    names: ["dashboard", "apps", "grid_view", "monitor", "analytics", "insights"],
    path: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  },
  {
    names: ["waving_hand", "front_hand", "back_hand", "thumb_up"],
    path: "M5 8V4a1 1 0 0 1 2 0v3-4.5a1 1 0 0 1 2 0V7 3.5a1 1 0 0 1 2 0V9c0 3-1.4 5-3.6 5S4.6 12.4 2.8 9.5a1 1 0 0 1 1.6-1z",
  },
];

/** Like Tilt's `smart_button`. */
const FALLBACK_PATH = "M2 5.5h12v5H2zM5.5 8h.01M8 8h.01M10.5 8h.01";

const pathsByName = new Map(
  drawings.flatMap(({ names, path }) => names.map((name) => [name, path] as const)),
);

/** Returns the SVG path of an icon; its variants share one drawing. */
export function iconPath(name: string): string {
  const baseName = name.replace(/_(outlined?|rounded|round|sharp|two_tone|filled)$/, "");
  return pathsByName.get(baseName) ?? FALLBACK_PATH;
}

/** Colour values that leave the colour of an SVG open. */
const RECOLORABLE = /^(none|currentcolor|inherit|transparent|black|#0{3,4}|#0{6}(0{2}|f{2})?|url\(.*)$/i;

/** Returns whether an SVG defines its own colours. */
export function hasOwnColors(svg: string): boolean {
  if (/<image\b/i.test(svg)) return true;
  const colors = svg.matchAll(/\b(?:fill|stroke|stop-color|color)\s*(?:=\s*["']|:)\s*([^"';\s]+)/gi);
  return [...colors].some(([, color]) => !RECOLORABLE.test(color ?? ""));
}

export function NamedIcon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" data-icon={name}>
      <path d={iconPath(name)} class="stroke thin" />
    </svg>
  );
}
