/** Labels for the column of resource names before log lines. */

/** Letters of a label, by the width of the screen (see logs.css). */
const WIDTHS = [
  [680, 8],
  [900, 11],
  [Infinity, 15],
] as const;

export type LabelWidth = (typeof WIDTHS)[number][1];

/** From the middle outwards: the ends of names tell most. */
function prefixLengths(width: number): number[] {
  const middle = Math.floor((width - 1) / 2);
  const heads = Array.from({ length: width - 2 }, (_, at) => at + 1);
  return heads.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle));
}

/** Wide letters count twice. */
function displayWidth(text: string): number {
  let length = 0;
  for (const letter of text) length += letter > "\u02ff" ? 2 : 1;
  return length;
}

/** The first letters that fit. */
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
 * Gives each resource a label of a limited length that no other resource has: names that begin alike stay apart. As in the
 * terminal, a long name keeps its beginning, or, where another resource has that label already, both its ends. Labels
 * never change.
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
    const labels = prefixLengths(this.width).map((head) => {
      const end = [...takeWidth(reversed, this.width - 1 - head)].reverse().join("");
      return `${takeWidth(letters, head)}…${end}`;
    });
    const found = [`${takeWidth(letters, this.width - 1)}…`, ...labels].find(
      (label) => !this.#usedLabels.has(label),
    );
    if (found !== undefined) return found;
    for (let number = 2; ; number++) {
      const end = `…${number}`;
      const label = takeWidth(letters, this.width - end.length) + end;
      if (!this.#usedLabels.has(label)) return label;
    }
  }
}

/** How long labels are on a screen of so many pixels. */
export function labelWidth(pixels: number): LabelWidth {
  return WIDTHS.find(([most]) => pixels <= most)?.[1] ?? 15;
}
