/** Labels for the column of resource names before log lines. */

/** Letters of a label, by the width of the screen (see logs.css). */
const WIDTHS = [
  [680, 8],
  [900, 11],
  [Infinity, 15],
] as const;

export type LabelWidth = (typeof WIDTHS)[number][1];

/** From the middle outwards: the ends of names tell most. */
function headsOf(width: number): number[] {
  const middle = Math.floor((width - 1) / 2);
  const heads = Array.from({ length: width - 2 }, (_, at) => at + 1);
  return heads.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle));
}

/** Wide letters count twice. */
function lengthOf(text: string): number {
  let length = 0;
  for (const letter of text) length += letter > "\u02ff" ? 2 : 1;
  return length;
}

/** The first letters that fit. */
function take(letters: readonly string[], most: number): string {
  let taken = "";
  let room = most;
  for (const letter of letters) {
    room -= lengthOf(letter);
    if (room < 0) break;
    taken += letter;
  }
  return taken;
}

/**
 * Gives each resource a label of a limited length that no other resource has: names that begin alike stay apart. As in the
 * terminal, a long name keeps its beginning, or, where another resource has that label already, both its ends. Labels
 * never change.
 */
export class NameColumn {
  readonly #labels = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(private readonly width: number) {}

  label(name: string): string {
    let label = this.#labels.get(name);
    if (label === undefined) {
      label = this.#unused(name);
      this.#labels.set(name, label);
      this.#used.add(label);
    }
    return label;
  }

  #unused(name: string): string {
    if (lengthOf(name) <= this.width) return name;
    const letters = [...name];
    const reversed = [...letters].reverse();
    const labels = headsOf(this.width).map((head) => {
      const end = [...take(reversed, this.width - 1 - head)].reverse().join("");
      return `${take(letters, head)}…${end}`;
    });
    const found = [`${take(letters, this.width - 1)}…`, ...labels].find((label) => !this.#used.has(label));
    if (found !== undefined) return found;
    for (let number = 2; ; number++) {
      const end = `…${number}`;
      const label = take(letters, this.width - end.length) + end;
      if (!this.#used.has(label)) return label;
    }
  }
}

/** How long labels are on a screen of so many pixels. */
export function labelWidth(pixels: number): LabelWidth {
  return WIDTHS.find(([most]) => pixels <= most)?.[1] ?? 15;
}
