/**
 * The text that a selection in the log copies: lines as they were logged, one per row, without times and names. A
 * part of a line copies that part.
 */

import type { Line } from "../generated/protocol";
import { stripAnsi } from "./ansi";

/** Returns undefined if the selection does not contain lines: then the browser's default applies. */
export function selectedLogText(
  selection: Selection | null,
  log: Element,
  lineOf: (seq: number) => Line | undefined,
): string | undefined {
  if (!selection || selection.rangeCount === 0 || selection.isCollapsed) return undefined;
  const range = selection.getRangeAt(0);
  const rows = [...log.querySelectorAll<HTMLElement>(".line")].filter((row) => range.intersectsNode(row));
  const selectedRows = rows.map((row) => selectedPartOf(row, range));
  // A selection often starts or ends outside the text: in the gutter, or at the start of the next row.
  while (selectedRows.at(-1)?.text === "" && selectedRows.length > 1) selectedRows.pop();
  while (selectedRows[0]?.text === "" && selectedRows.length > 1) selectedRows.shift();
  const [first] = selectedRows;
  if (!first || (selectedRows.length === 1 && first.text === "")) return undefined;
  // Within one field of a JSON line, only the selected text is copied.
  if (selectedRows.length === 1 && first.isWithinOneField) return undefined;
  return selectedRows
    .map(({ row, text, isWholeLine, isJson }) => {
      const line = lineOf(Number(row.dataset["seq"]));
      return line && (isWholeLine || isJson) ? stripAnsi(line.text) : text;
    })
    .join("\n");
}

interface SelectedRow {
  row: HTMLElement;
  /** The selected text as it was logged. */
  text: string;
  /** The whole text of the line is selected. */
  isWholeLine: boolean;
  /** The line is shown as JSON fields. */
  isJson: boolean;
  isWithinOneField: boolean;
}

function selectedPartOf(row: HTMLElement, range: Range): SelectedRow {
  const content = row.querySelector(":scope > .structured, :scope > .text");
  const isJson = content?.classList.contains("structured") ?? false;
  if (!content) return { row, text: "", isWholeLine: false, isJson, isWithinOneField: false };
  const fullRange = document.createRange();
  fullRange.selectNodeContents(content);
  const selectedRange = fullRange.cloneRange();
  if (range.compareBoundaryPoints(Range.START_TO_START, fullRange) > 0) {
    selectedRange.setStart(range.startContainer, range.startOffset);
  }
  if (range.compareBoundaryPoints(Range.END_TO_END, fullRange) < 0)
    selectedRange.setEnd(range.endContainer, range.endOffset);
  const text = textOfRange(selectedRange);
  const field = elementOf(selectedRange.commonAncestorContainer)?.closest(
    ".text, dd, dt, .path, .json-level",
  );
  return {
    row,
    text,
    isWholeLine: text === textOfRange(fullRange),
    isJson,
    isWithinOneField: isJson && field !== null && field !== undefined && content.contains(field),
  };
}

function elementOf(node: Node): Element | null {
  return node instanceof Element ? node : node.parentElement;
}

/** Returns the text without the notes and buttons of a shortened line. */
function textOfRange(range: Range): string {
  const copy = range.cloneContents();
  copy.querySelectorAll(".shortened-note, .show-more, .expand").forEach((element) => element.remove());
  return copy.textContent ?? "";
}
