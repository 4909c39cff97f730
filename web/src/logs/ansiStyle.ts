/** Styles of terminal output as class names and colours. */

import { colorOf, type Style } from "./ansi";

export function paint(style: Style): { classes: string; colors: Record<string, string> | undefined } {
  const classes: string[] = [];
  const colors: Record<string, string> = {};
  // Inverse without colours is a class of its own: the theme knows what it inverts.
  const swapped = style.inverse && (style.foreground !== undefined || style.background !== undefined);
  const foreground = swapped ? style.background : style.foreground;
  const background = swapped ? style.foreground : style.background;
  put("color", "f", foreground);
  put("background-color", "b", background);
  if (style.inverse && (!swapped || foreground === undefined)) classes.push(swapped ? "on-color" : "inverse");
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) {
    if (style[name]) classes.push(name);
  }
  return { classes: classes.join(" "), colors: Object.keys(colors).length > 0 ? colors : undefined };

  function put(property: string, prefix: string, color: number | string | undefined) {
    if (color === undefined) return;
    if (typeof color === "number" && color < 16) classes.push(`${prefix}${color}`);
    else colors[property] = typeof color === "number" ? colorOf(color) : color;
  }
}
