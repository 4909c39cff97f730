/** Sections of log in words: pods, their containers, runs of a server. */

export interface Section {
  span: string;
  words: string;
}

/** Names the sections of the log of a resource for people. A pod's are `pod:RESOURCE:POD` and `pod:RESOURCE:POD:CONTAINER`. */
export function sectionWords(resource: string, spans: readonly string[]): Section[] {
  const ofPod = `pod:${resource}:`;
  return spans.map((span) => {
    if (span.startsWith(ofPod)) {
      return { span, words: span.slice(ofPod.length).split(":").join(" / ") };
    }
    const [kind, ...rest] = span.split(":");
    switch (kind) {
      case "podlogstream":
        return { span, words: rest.join(" / ") };
      default:
        return { span, words: rest.length > 0 ? `${kind} ${rest.at(-1)}` : span };
    }
  });
}
