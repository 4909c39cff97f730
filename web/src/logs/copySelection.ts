/**
 * What a selection in the log copies: the lines as they were logged, one per row, without times and names beside them.
 * A part of a line copies that part.
 */

import type { Line } from "../generated/protocol";
import { stripAnsi } from "./ansi";

/** Undefined: the selection is not one of lines, and copies what the browser takes it for. */
export function selectedLogText(
  selection: Selection | null,
  log: Element,
  lineOf: (seq: number) => Line | undefined,
): string | undefined {
  if (!selection || selection.rangeCount === 0 || selection.isCollapsed) return undefined;
  const range = selection.getRangeAt(0);
  const rows = [...log.querySelectorAll<HTMLElement>(".line")].filter((row) => range.intersectsNode(row));
  const parts = rows.map((row) => selectedPartOf(row, range));
  // The ends of a selection often lie beside the text: in the gutter, or where the next row begins.
  while (parts.at(-1)?.text === "" && parts.length > 1) parts.pop();
  while (parts[0]?.text === "" && parts.length > 1) parts.shift();
  const [first] = parts;
  if (!first || (parts.length === 1 && first.text === "")) return undefined;
  // Within one field of a line with fields, that text is meant.
  if (parts.length === 1 && first.inOneField) return undefined;
  return parts
    .map(({ row, text, whole, structured }) => {
      const line = lineOf(Number(row.dataset["seq"]));
      return line && (whole || structured) ? stripAnsi(line.text) : text;
    })
    .join("\n");
}

interface SelectedRow {
  row: HTMLElement;
  /** The selected text, without what the page adds to it. */
  text: string;
  /** All of the line's text is selected. */
  whole: boolean;
  /** The line is shown as fields. */
  structured: boolean;
  inOneField: boolean;
}

function selectedPartOf(row: HTMLElement, range: Range): SelectedRow {
  const content = row.querySelector(":scope > .structured, :scope > .text");
  const structured = content?.classList.contains("structured") ?? false;
  if (!content) return { row, text: "", whole: false, structured, inOneField: false };
  const fullRange = document.createRange();
  fullRange.selectNodeContents(content);
  const selectedRange = fullRange.cloneRange();
  if (range.compareBoundaryPoints(Range.START_TO_START, fullRange) > 0) {
    selectedRange.setStart(range.startContainer, range.startOffset);
  }
  if (range.compareBoundaryPoints(Range.END_TO_END, fullRange) < 0)
    selectedRange.setEnd(range.endContainer, range.endOffset);
  const text = textOfRange(selectedRange);
  const field = closestElement(selectedRange.commonAncestorContainer)?.closest(
    ".text, dd, dt, .path, .json-level",
  );
  return {
    row,
    text,
    whole: text === textOfRange(fullRange),
    structured,
    inOneField: structured && field !== null && field !== undefined && content.contains(field),
  };
}

function closestElement(node: Node): Element | null {
  return node instanceof Element ? node : node.parentElement;
}

/** Without notes and buttons that stand in a text that is too long to be shown. */
function textOfRange(range: Range): string {
  const copy = range.cloneContents();
  copy.querySelectorAll(".cut-note, .more, .unfold").forEach((element) => element.remove());
  return copy.textContent ?? "";
}
