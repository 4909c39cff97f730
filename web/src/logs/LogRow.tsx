import { Component, type ComponentChild } from "preact";
import type { Line } from "../generated/protocol";
import { formatTimeOfDay } from "../model/time";
import { parseAnsi } from "./ansi";
import { decorate, type DecoratedText } from "./decorate";
import { excerpt } from "./excerpt";
import type { DisplayOptions } from "./displayOptions";
import type { NameLabels } from "./nameLabels";
import { parseJsonLine, type JsonLine } from "./jsonLine";
import { styleToCss } from "./ansiStyle";

interface Properties {
  line: Line;
  index: number;
  looks: DisplayOptions;
  target: boolean;
  /** Keys are about this one: what is in it can be reached with the tab key. */
  current: boolean;
  /** How often more was wanted. */
  expanded: number;
  /** None: all rows are of one height. */
  measure: ((element: HTMLDivElement | null) => void) | undefined;
  onToggle: (seq: number) => void;
  onMore: (seq: number) => void;
  onField: (field: string) => void;
}

/** Lines never change, so a row is drawn once. */
export class LogRow extends Component<Properties> {
  override shouldComponentUpdate(next: Properties): boolean {
    const now = this.props;
    return (
      next.line !== now.line ||
      next.looks !== now.looks ||
      next.target !== now.target ||
      next.current !== now.current ||
      next.expanded !== now.expanded ||
      // Measuring goes by the place.
      next.measure !== now.measure ||
      (next.measure !== undefined && next.index !== now.index)
    );
  }

  // Parts are functions that draw, not components: while one scrolls, rows are made by the thousand.
  render(properties: Properties) {
    const { line, index, looks, target, current, expanded, measure, onMore } = properties;
    const structure = looks.parseJson ? parseJsonLine(line) : undefined;
    return (
      <div
        class={`line ${line.level} ${line.source}${target ? " target" : ""}${current ? " current" : ""}${expanded > 0 ? " tall" : ""}`}
        data-seq={line.seq}
        data-index={index}
        ref={measure ?? null}
      >
        {drawAnchor(line, looks, current)}
        {looks.nameLabels ? drawName(line.resource ?? "lilt", looks.nameLabels) : null}
        {drawLevel(line.level)}
        {structure ? (
          <Structured {...properties} structure={structure} />
        ) : (
          drawText({ text: line.text, looks, current, unfolded: expanded, onMore: () => onMore(line.seq) })
        )}
      </div>
    );
  }
}

/** The label is short enough: what cuts off is a layer of its own, and dear by the thousand. */
function drawName(name: string, labels: NameLabels) {
  return (
    <span class="who" title={name}>
      {labels.label(name)}
    </span>
  );
}

interface LinkProperties {
  looks: DisplayOptions;
  current: boolean;
}

/** Lines by the thousand are no place for the tab key, but the current one is. */
function tabIndexOf(current: boolean): number {
  return current ? 0 : -1;
}

/** The permanent link to the line. */
function drawAnchor(line: Line, looks: DisplayOptions, current: boolean) {
  return (
    <a class="time" href={`${looks.lineUrl}line=${line.seq}`} tabIndex={tabIndexOf(current)}>
      {looks.showTimes ? formatTimeOfDay(line.time) : <span aria-hidden="true">#</span>}
      {looks.showTimes ? null : <span class="hidden">Link to this line</span>}
    </a>
  );
}

interface TextProperties extends LinkProperties {
  text: string;
  unfolded?: number;
  onMore?: () => void;
}

function drawText({ text, looks, current, unfolded = 0, onMore }: TextProperties) {
  const shown = excerpt(text, looks.searchText, unfolded);
  const long = shown.text.length < text.length || unfolded > 0;
  return (
    <span class={`text${unfolded > 0 ? " unfolded" : ""}`}>
      {shown.before > 0 ? <span class="cut-note">{shown.before.toLocaleString()} characters … </span> : null}
      {decorate(parseAnsi(shown.text), looks.highlight).map((piece) => drawPiece(piece, current))}
      {long ? <span class="cut-note"> … {text.length.toLocaleString()} characters </span> : null}
      {onMore && shown.text.length < text.length ? (
        <button type="button" class="more" tabIndex={tabIndexOf(current)} onClick={onMore}>
          Show more
        </button>
      ) : null}
    </span>
  );
}

function drawLevel(level: Line["level"]) {
  if (level === "info") return null;
  return (
    <span class={`level ${level}`}>
      <span aria-hidden="true">{level === "error" ? "✕" : "▲"}</span>
      <span class="hidden">{level === "error" ? "Error: " : "Warning: "}</span>
    </span>
  );
}

function drawPiece(piece: DecoratedText, current: boolean): ComponentChild {
  const { classes, colors } = styleToCss(piece.style);
  let shown: ComponentChild = piece.text;
  if (piece.isMatch) {
    shown = (
      <mark class={classes} style={colors}>
        {piece.text}
      </mark>
    );
  } else if (classes !== "" || colors !== undefined) {
    shown = (
      <span class={classes} style={colors}>
        {piece.text}
      </span>
    );
  }
  if (piece.href === undefined) return shown;
  return (
    <a href={piece.href} target="_blank" rel="noopener noreferrer" tabIndex={tabIndexOf(current)}>
      {shown}
    </a>
  );
}

function Structured({
  line,
  structure,
  looks,
  current,
  expanded,
  onToggle,
  onField,
}: Properties & { structure: JsonLine }) {
  const loud = /^(err|fatal|crit|panic|alert|emerg)/i.test(structure.level)
    ? "error"
    : /^warn/i.test(structure.level)
      ? "warn"
      : "";
  return (
    <div class={`structured${expanded > 0 ? " open" : ""}`}>
      <button
        type="button"
        class="unfold"
        aria-expanded={expanded > 0}
        aria-label="Fields of this line"
        tabIndex={tabIndexOf(current)}
        onClick={() => onToggle(line.seq)}
      >
        <span aria-hidden="true">›</span>
      </button>
      {structure.level ? <span class={`json-level ${loud}`}>{structure.level}</span> : null}
      {structure.message ? drawText({ text: structure.message, looks, current }) : null}
      {expanded > 0 ? (
        <Fields structure={structure} onField={onField} />
      ) : (
        structure.otherFields.map(({ path, value }) => (
          <span class="field" key={path}>
            <span class="path">{path}=</span>
            {drawText({ text: value, looks, current })}
          </span>
        ))
      )}
    </div>
  );
}

function Fields({ structure, onField }: { structure: JsonLine; onField: (field: string) => void }) {
  return (
    <dl class="fields">
      {structure.fields.map(({ path, value }) => (
        <div key={path}>
          <dt>{path}</dt>
          <dd>
            <button
              type="button"
              title={`Show only lines with ${path}=${value}`}
              onClick={() => onField(`${path}=${value}`)}
            >
              {value}
            </button>
          </dd>
        </div>
      ))}
    </dl>
  );
}
