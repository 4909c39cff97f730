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

interface Props {
  line: Line;
  index: number;
  options: DisplayOptions;
  isLinked: boolean;
  /** The arrow keys chose this line: its links and buttons can be reached with the tab key. */
  isCurrent: boolean;
  /** How often the line was expanded. */
  expandCount: number;
  /** Undefined while all rows have the same height. */
  measure: ((element: HTMLDivElement | null) => void) | undefined;
  onToggle: (seq: number) => void;
  onMore: (seq: number) => void;
  onField: (field: string) => void;
}

/** One line of the log. Lines never change, so that a row rarely rerenders. */
export class LogRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const current = this.props;
    return (
      next.line !== current.line ||
      next.options !== current.options ||
      next.isLinked !== current.isLinked ||
      next.isCurrent !== current.isCurrent ||
      next.expandCount !== current.expandCount ||
      // The virtualizer measures rows by their index.
      next.measure !== current.measure ||
      (next.measure !== undefined && next.index !== current.index)
    );
  }

  // Parts are functions instead of components, which would be too slow for the thousands of rows of a fast scroll.
  render(props: Props) {
    const { line, index, options, isLinked, isCurrent, expandCount, measure, onMore } = props;
    const json = options.parseJson ? parseJsonLine(line) : undefined;
    return (
      <div
        class={`line ${line.level} ${line.source}${isLinked ? " target" : ""}${isCurrent ? " current" : ""}${expandCount > 0 ? " auto-height" : ""}`}
        data-seq={line.seq}
        data-index={index}
        ref={measure ?? null}
      >
        {renderLineLink(line, options, isCurrent)}
        {options.nameLabels ? renderName(line.resource ?? "lilt", options.nameLabels) : null}
        {renderLevel(line.level)}
        {json ? (
          <JsonRow {...props} json={json} />
        ) : (
          renderText({
            text: line.text,
            options,
            isCurrent,
            expanded: expandCount,
            onMore: () => onMore(line.seq),
          })
        )}
      </div>
    );
  }
}

/** Renders the resource's name. It fits its column: `overflow: hidden` would be too slow for thousands of rows. */
function renderName(name: string, labels: NameLabels) {
  return (
    <span class="resource-name" title={name}>
      {labels.label(name)}
    </span>
  );
}

interface LinkProps {
  options: DisplayOptions;
  isCurrent: boolean;
}

/** Only the current line takes part in the tab order: thousands of lines would make it useless. */
function tabIndexOf(isCurrent: boolean): number {
  return isCurrent ? 0 : -1;
}

/** Renders the time as the permanent link to the line. */
function renderLineLink(line: Line, options: DisplayOptions, isCurrent: boolean) {
  return (
    <a class="time" href={`${options.lineUrl}line=${line.seq}`} tabIndex={tabIndexOf(isCurrent)}>
      {options.showTimes ? formatTimeOfDay(line.time) : <span aria-hidden="true">#</span>}
      {options.showTimes ? null : <span class="visually-hidden">Link to this line</span>}
    </a>
  );
}

interface TextProps extends LinkProps {
  text: string;
  expanded?: number;
  onMore?: () => void;
}

function renderText({ text, options, isCurrent, expanded = 0, onMore }: TextProps) {
  const part = excerpt(text, options.searchText, expanded);
  const isShortened = part.text.length < text.length || expanded > 0;
  return (
    <span class={`text${expanded > 0 ? " expanded" : ""}`}>
      {part.before > 0 ? (
        <span class="shortened-note">{part.before.toLocaleString()} characters … </span>
      ) : null}
      {decorate(parseAnsi(part.text), options.highlight).map((piece) => renderPiece(piece, isCurrent))}
      {isShortened ? <span class="shortened-note"> … {text.length.toLocaleString()} characters </span> : null}
      {onMore && part.text.length < text.length ? (
        <button type="button" class="show-more" tabIndex={tabIndexOf(isCurrent)} onClick={onMore}>
          Show more
        </button>
      ) : null}
    </span>
  );
}

function renderLevel(level: Line["level"]) {
  if (level === "info") return null;
  return (
    <span class={`level ${level}`}>
      <span aria-hidden="true">{level === "error" ? "✕" : "▲"}</span>
      <span class="visually-hidden">{level === "error" ? "Error: " : "Warning: "}</span>
    </span>
  );
}

function renderPiece(piece: DecoratedText, current: boolean): ComponentChild {
  const { classes, colors } = styleToCss(piece.style);
  let content: ComponentChild = piece.text;
  if (piece.isMatch) {
    content = (
      <mark class={classes} style={colors}>
        {piece.text}
      </mark>
    );
  } else if (classes !== "" || colors !== undefined) {
    content = (
      <span class={classes} style={colors}>
        {piece.text}
      </span>
    );
  }
  if (piece.href === undefined) return content;
  return (
    <a href={piece.href} target="_blank" rel="noopener noreferrer" tabIndex={tabIndexOf(current)}>
      {content}
    </a>
  );
}

function JsonRow({
  line,
  json,
  options,
  isCurrent,
  expandCount,
  onToggle,
  onField,
}: Props & { json: JsonLine }) {
  const severity = /^(err|fatal|crit|panic|alert|emerg)/i.test(json.level)
    ? "error"
    : /^warn/i.test(json.level)
      ? "warn"
      : "";
  return (
    <div class={`structured${expandCount > 0 ? " open" : ""}`}>
      <button
        type="button"
        class="expand"
        aria-expanded={expandCount > 0}
        aria-label="Fields of this line"
        tabIndex={tabIndexOf(isCurrent)}
        onClick={() => onToggle(line.seq)}
      >
        <span aria-hidden="true">›</span>
      </button>
      {json.level ? <span class={`json-level ${severity}`}>{json.level}</span> : null}
      {json.message ? renderText({ text: json.message, options, isCurrent }) : null}
      {expandCount > 0 ? (
        <JsonFields json={json} onField={onField} />
      ) : (
        json.otherFields.map(({ path, value }) => (
          <span class="field" key={path}>
            <span class="path">{path}=</span>
            {renderText({ text: value, options, isCurrent })}
          </span>
        ))
      )}
    </div>
  );
}

function JsonFields({ json, onField }: { json: JsonLine; onField: (field: string) => void }) {
  return (
    <dl class="fields">
      {json.fields.map(({ path, value }) => (
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
