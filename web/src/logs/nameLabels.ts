/** Shortened names of resources, for the column before log lines. */

/** Length of a label by width of the screen in pixels; logs.css has the same widths. */
const WIDTHS = [
  [680, 8],
  [900, 11],
  [Infinity, 15],
] as const;

export type LabelWidth = (typeof WIDTHS)[number][1];

/** Returns the lengths of prefixes to try, the most balanced first: both ends of a name tell most about it. */
function prefixLengths(width: number): number[] {
  const middle = Math.floor((width - 1) / 2);
  const lengths = Array.from({ length: width - 2 }, (_, at) => at + 1);
  return lengths.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

/** Returns the number of columns in a monospace font: wide characters take two. */
function displayWidth(text: string): number {
  let length = 0;
  for (const letter of text) length += letter > "\u02ff" ? 2 : 1;
  return length;
}

/** Returns the longest prefix that fits. */
function takeWidth(letters: readonly string[], maxWidth: number): string {
  let result = "";
  let remaining = maxWidth;
  for (const letter of letters) {
    remaining -= displayWidth(letter);
    if (remaining < 0) break;
    result += letter;
  }
  return result;
}

/**
 * Gives each resource a unique label of limited length, so that names with equal prefixes stay apart. As in the
 * terminal, a long name keeps its start, or both its ends if that label is taken. Labels never change.
 */
export class NameLabels {
  readonly #labels = new Map<string, string>();
  readonly #usedLabels = new Set<string>();

  constructor(private readonly width: number) {}

  label(name: string): string {
    let label = this.#labels.get(name);
    if (label === undefined) {
      label = this.#createLabel(name);
      this.#labels.set(name, label);
      this.#usedLabels.add(label);
    }
    return label;
  }

  #createLabel(name: string): string {
    if (displayWidth(name) <= this.width) return name;
    const letters = [...name];
    const reversed = [...letters].reverse();
    const labels = prefixLengths(this.width).map((prefixLength) => {
      const end = [...takeWidth(reversed, this.width - 1 - prefixLength)].reverse().join("");
      return `${takeWidth(letters, prefixLength)}…${end}`;
    });
    const unused = [`${takeWidth(letters, this.width - 1)}…`, ...labels].find(
      (label) => !this.#usedLabels.has(label),
    );
    if (unused !== undefined) return unused;
    for (let number = 2; ; number++) {
      const end = `…${number}`;
      const label = takeWidth(letters, this.width - end.length) + end;
      if (!this.#usedLabels.has(label)) return label;
    }
  }
}

/** Returns the length of labels for a width of the screen in pixels. */
export function labelWidth(pixels: number): LabelWidth {
  return WIDTHS.find(([most]) => pixels <= most)?.[1] ?? 15;
}
