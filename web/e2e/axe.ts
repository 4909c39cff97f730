/** What a machine can tell about whether everybody can use a page. */

import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";

interface Wishes {
  /** Only whether colours can be told apart: all else is the same in both schemes. */
  onlyColors?: boolean;
  without?: readonly string[];
}

/** What is wrong, with the first place of each; `what` says where the page was. */
export async function violations(page: Page, what: string, { onlyColors, without = [] }: Wishes = {}) {
  const off = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
  // Names that lack the words one sees cannot be spoken to: this rule must be asked for.
  const rules = { "label-content-name-mismatch": { enabled: true }, ...off };
  const axe = onlyColors
    ? new AxeBuilder({ page }).withRules(["color-contrast"])
    : new AxeBuilder({ page }).options({ rules }).withTags(["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]);
  const found = await axe.analyze();
  return found.violations.map(({ id, nodes }) => `${what} ${id}: ${nodes[0]?.html}`);
}
