import { Component } from "preact";
import type { Line } from "../generated/protocol";
import { timeOfDay } from "../model/time";
import { colorOf, parse, type Piece, type Style } from "./ansi";
import { highlight } from "./highlight";

/** A longer line is cut in sight (not in the log): drawing a megabyte in one row would stop the page. */
export const LONGEST_SHOWN = 8_000;

interface Properties {
  line: Line;
  searched: string;
  times: boolean;
  names: boolean;
}

/** Lines never change, so a row is drawn once. */
export class LogRow extends Component<Properties> {
  override shouldComponentUpdate(next: Properties): boolean {
    const now = this.props;
    return (
      next.line !== now.line ||
      next.searched !== now.searched ||
      next.times !== now.times ||
      next.names !== now.names
    );
  }

  render({ line, searched, times, names }: Properties) {
    const cut = line.text.length > LONGEST_SHOWN;
    const text = cut ? line.text.slice(0, LONGEST_SHOWN) : line.text;
    return (
      <div class={`line ${line.level} ${line.source}`} data-seq={line.seq}>
        {times ? <span class="time">{timeOfDay(line.time)}</span> : null}
        {names ? (
          <span class="who" title={line.resource ?? "lilt"}>
            {line.resource ?? "lilt"}
          </span>
        ) : null}
        <LevelMark level={line.level} />
        <span class="text">
          {highlight(parse(text), searched).map((piece, index) => (
            <Styled key={index} piece={piece} marked={piece.marked} />
          ))}
          {cut ? <span class="cut-note"> … {line.text.length.toLocaleString()} characters</span> : null}
        </span>
      </div>
    );
  }
}

function LevelMark({ level }: { level: Line["level"] }) {
  if (level === "info") return <span class="level" />;
  return (
    <span class={`level ${level}`}>
      <span aria-hidden="true">{level === "error" ? "✕" : "▲"}</span>
      <span class="hidden">{level === "error" ? "Error: " : "Warning: "}</span>
    </span>
  );
}

function Styled({ piece, marked }: { piece: Piece; marked: boolean }) {
  const { classes, colors } = looks(piece.style);
  if (marked) {
    return (
      <mark class={classes} style={colors}>
        {piece.text}
      </mark>
    );
  }
  if (classes === "" && colors === undefined) return <>{piece.text}</>;
  return (
    <span class={classes} style={colors}>
      {piece.text}
    </span>
  );
}

function looks(style: Style): { classes: string; colors: Record<string, string> | undefined } {
  const classes: string[] = [];
  const colors: Record<string, string> = {};
  // Inverse without colours is a class of its own: the theme knows what it inverts.
  const swapped = style.inverse && (style.foreground !== undefined || style.background !== undefined);
  const foreground = swapped ? style.background : style.foreground;
  const background = swapped ? style.foreground : style.background;
  paint("color", "f", foreground);
  paint("background-color", "b", background);
  if (style.inverse && (!swapped || foreground === undefined)) classes.push(swapped ? "on-color" : "inverse");
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) {
    if (style[name]) classes.push(name);
  }
  return { classes: classes.join(" "), colors: Object.keys(colors).length > 0 ? colors : undefined };

  function paint(property: string, prefix: string, color: number | string | undefined) {
    if (color === undefined) return;
    if (typeof color === "number" && color < 16) classes.push(`${prefix}${color}`);
    else colors[property] = typeof color === "number" ? colorOf(color) : color;
  }
}
