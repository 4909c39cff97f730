/** Converts styles of terminal output to class names and CSS colours. */

import { extendedColorToCss, type Style } from "./ansi";

export function styleToCss(style: Style): { classes: string; colors: Record<string, string> | undefined } {
  const classes: string[] = [];
  const colors: Record<string, string> = {};
  // Inverse without colours is a class, because the theme defines the colours to swap.
  const swapsColors = style.inverse && (style.foreground !== undefined || style.background !== undefined);
  const foreground = swapsColors ? style.background : style.foreground;
  const background = swapsColors ? style.foreground : style.background;
  setColor("color", "f", foreground);
  setColor("background-color", "b", background);
  if (style.inverse && (!swapsColors || foreground === undefined))
    classes.push(swapsColors ? "on-color" : "inverse");
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) {
    if (style[name]) classes.push(name);
  }
  return { classes: classes.join(" "), colors: Object.keys(colors).length > 0 ? colors : undefined };

  function setColor(property: string, prefix: string, color: number | string | undefined) {
    if (color === undefined) return;
    if (typeof color === "number" && color < 16) classes.push(`${prefix}${color}`);
    else colors[property] = typeof color === "number" ? extendedColorToCss(color) : color;
  }
}
