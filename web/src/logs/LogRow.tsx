import { Component } from "preact";
import type { Line } from "../generated/protocol";
import { timeOfDay } from "../model/time";
import { parse } from "./ansi";
import { decorate, type Decorated } from "./decorate";
import type { Looks } from "./looks";
import { structureOf, type Structure } from "./structure";
import { paint } from "./paint";

/** A longer line is cut in sight (not in the log): drawing a megabyte in one row would stop the page. */
export const LONGEST_SHOWN = 8_000;

interface Properties {
  line: Line;
  index: number;
  looks: Looks;
  target: boolean;
  expanded: boolean;
  /** None: all rows are of one height. */
  measure: ((element: HTMLDivElement | null) => void) | undefined;
  onToggle: (seq: number) => void;
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
      next.expanded !== now.expanded ||
      // Measuring goes by the place.
      next.measure !== now.measure ||
      (next.measure !== undefined && next.index !== now.index)
    );
  }

  render({ line, index, looks, target, expanded, measure, onToggle, onField }: Properties) {
    const structure = looks.structured ? structureOf(line) : undefined;
    return (
      <div
        class={`line ${line.level} ${line.source}${target ? " target" : ""}`}
        data-seq={line.seq}
        data-index={index}
        ref={measure ?? null}
      >
        <Anchor line={line} looks={looks} />
        {looks.names ? (
          <span class="who" title={line.resource ?? "lilt"}>
            {line.resource ?? "lilt"}
          </span>
        ) : null}
        <LevelMark level={line.level} />
        {structure ? (
          <Structured
            line={line}
            structure={structure}
            looks={looks}
            expanded={expanded}
            onToggle={onToggle}
            onField={onField}
          />
        ) : (
          <Text text={line.text} marker={looks.marker} />
        )}
      </div>
    );
  }
}

/** The permanent link to the line. */
function Anchor({ line, looks }: { line: Line; looks: Looks }) {
  return (
    <a class="time" href={`${looks.link}line=${line.seq}`} tabIndex={-1} title="Link to this line">
      {looks.times ? timeOfDay(line.time) : <span aria-hidden="true">#</span>}
      {looks.times ? null : <span class="hidden">Link to this line</span>}
    </a>
  );
}

function Text({ text, marker }: { text: string; marker: RegExp | undefined }) {
  const cut = text.length > LONGEST_SHOWN;
  return (
    <span class="text">
      {decorate(parse(cut ? text.slice(0, LONGEST_SHOWN) : text), marker).map((piece, index) => (
        <Styled key={index} piece={piece} />
      ))}
      {cut ? <span class="cut-note"> … {text.length.toLocaleString()} characters</span> : null}
    </span>
  );
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

function Styled({ piece }: { piece: Decorated }) {
  const { classes, colors } = paint(piece.style);
  let shown = <>{piece.text}</>;
  if (piece.marked) {
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
    <a href={piece.href} target="_blank" rel="noopener noreferrer" tabIndex={-1}>
      {shown}
    </a>
  );
}

interface StructuredProperties extends Pick<
  Properties,
  "line" | "looks" | "expanded" | "onToggle" | "onField"
> {
  structure: Structure;
}

function Structured({ line, structure, looks, expanded, onToggle, onField }: StructuredProperties) {
  const loud = /^(err|fatal|crit|panic|alert|emerg)/i.test(structure.level)
    ? "error"
    : /^warn/i.test(structure.level)
      ? "warn"
      : "";
  return (
    <div class="structured">
      <button
        type="button"
        class="unfold"
        aria-expanded={expanded}
        aria-label="Fields of this line"
        tabIndex={-1}
        onClick={() => onToggle(line.seq)}
      >
        <span aria-hidden="true">›</span>
      </button>
      {structure.level ? <span class={`json-level ${loud}`}>{structure.level}</span> : null}
      {structure.message ? <Text text={structure.message} marker={looks.marker} /> : null}
      {expanded ? (
        <Fields structure={structure} onField={onField} />
      ) : (
        structure.rest.map(({ path, value }) => (
          <span class="field" key={path}>
            <span class="path">{path}=</span>
            <Text text={value} marker={looks.marker} />
          </span>
        ))
      )}
    </div>
  );
}

function Fields({ structure, onField }: { structure: Structure; onField: (field: string) => void }) {
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
