/** Sections of log in words: pods, their containers, runs of a server. */

export interface Section {
  span: string;
  words: string;
}

export function sectionWords(spans: readonly string[]): Section[] {
  return spans.map((span) => {
    const [kind, ...rest] = span.split(":");
    switch (kind) {
      case "pod": {
        const [, pod = span, container] = rest;
        return { span, words: container ? `${pod} / ${container}` : pod };
      }
      case "podlogstream":
        return { span, words: rest.join(" / ") };
      default:
        return { span, words: rest.length > 0 ? `${kind} ${rest.at(-1)}` : span };
    }
  });
}
