/** Automated accessibility checks. */

import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";

interface CheckOptions {
  /** Checks only colour contrast: everything else is the same in both colour schemes. */
  colorsOnly?: boolean;
  disabledRules?: readonly string[];
}

/**
 * Returns the violations of accessibility rules with the first element of each; `what` names the state of the page.
 */
export async function violations(
  page: Page,
  pageState: string,
  { colorsOnly, disabledRules = [] }: CheckOptions = {},
) {
  const disabled = Object.fromEntries(disabledRules.map((rule) => [rule, { enabled: false }]));
  // Off by default; needed for voice control, which uses the visible label.
  const rules = { "label-content-name-mismatch": { enabled: true }, ...disabled };
  const axe = colorsOnly
    ? new AxeBuilder({ page }).withRules(["color-contrast"])
    : new AxeBuilder({ page }).options({ rules }).withTags(["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]);
  const results = await axe.analyze();
  return results.violations.map(({ id, nodes }) => `${pageState} ${id}: ${nodes[0]?.html}`);
}
