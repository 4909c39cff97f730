/**
 * Parses terminal output into styled texts. The result contains texts and class names, never HTML.
 *
 * Colours (16, 256 and 24 bit), bold, dim, italic, underline, inverse and strike are kept; all other control
 * sequences are dropped. Every line starts without a style.
 */

export interface Style {
  /** A colour index from 0 to 255, or `rgb(…)`. */
  foreground?: number | string;
  background?: number | string;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  inverse?: true;
  strike?: true;
}

export interface StyledText {
  text: string;
  style: Style;
}

const noStyle: Style = Object.freeze({});

// CSI, OSC (ended by BEL or ST, otherwise by the end of the line), two-character escapes, and control characters
// except tab.
const controlSequence =
  // eslint-disable-next-line no-control-regex
  /\x1b\[([0-9:;<=>?]*)[ -/]*([@-~]|$)|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]/g;

export function parseAnsi(line: string): StyledText[] {
  const text = afterLastCarriageReturn(line);
  if (!hasControlCharacters(text)) {
    return text === "" ? [] : [{ text, style: noStyle }];
  }
  const result: StyledText[] = [];
  let style = noStyle;
  let from = 0;
  const push = (until: number) => {
    if (until > from) {
      result.push({ text: text.slice(from, until), style });
    }
  };
  for (const match of text.matchAll(controlSequence)) {
    push(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") {
      style = applyStyleCodes(style, match[1] ?? "");
    }
  }
  push(text.length);
  return result;
}

/** Returns the text without control sequences. */
export function stripAnsi(line: string): string {
  const text = afterLastCarriageReturn(line);
  return hasControlCharacters(text) ? text.replace(controlSequence, "") : text;
}

/** Returns what a terminal shows: a carriage return overwrites the line, as progress bars do. */
function afterLastCarriageReturn(line: string): string {
  const index = line.lastIndexOf("\r");
  if (index < 0) {
    return line;
  }
  return index === line.length - 1 ? afterLastCarriageReturn(line.slice(0, index)) : line.slice(index + 1);
}

function hasControlCharacters(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /[\x00-\x08\x0b-\x1f\x7f]/.test(text);
}

function applyStyleCodes(old: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  let style: Style = { ...old };
  for (let position = 0; position < codes.length; position++) {
    const code = codes[position] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) {
      delete style.bold;
      delete style.dim;
    } else if (code === 23) delete style.italic;
    else if (code === 24) delete style.underline;
    else if (code === 27) delete style.inverse;
    else if (code === 29) delete style.strike;
    else if (code >= 30 && code <= 37) style.foreground = code - 30;
    else if (code === 39) delete style.foreground;
    else if (code >= 40 && code <= 47) style.background = code - 40;
    else if (code === 49) delete style.background;
    else if (code >= 90 && code <= 97) style.foreground = code - 90 + 8;
    else if (code >= 100 && code <= 107) style.background = code - 100 + 8;
    else if (code === 38 || code === 48) {
      const [color, used] = parseExtendedColor(codes.slice(position + 1));
      position += used;
      if (color !== undefined) {
        style[code === 38 ? "foreground" : "background"] = color;
      }
    }
  }
  return style;
}

function parseExtendedColor(codes: number[]): [color: number | string | undefined, used: number] {
  const byte = (value: number | undefined) => value !== undefined && value >= 0 && value <= 255;
  if (codes[0] === 5) {
    return [byte(codes[1]) ? codes[1] : undefined, 2];
  }
  if (codes[0] === 2) {
    const rgb = codes.slice(1, 4);
    return [rgb.length === 3 && rgb.every(byte) ? `rgb(${rgb.join(" ")})` : undefined, 4];
  }
  return [undefined, 1];
}

/** Returns the CSS of a colour above 15. The first 16 colours belong to the theme and are classes. */
export function extendedColorToCss(index: number): string {
  if (index >= 232) {
    const gray = 8 + (index - 232) * 10;
    return `rgb(${gray} ${gray} ${gray})`;
  }
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}
