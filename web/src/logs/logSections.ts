/** Labels of log sections: pods, their containers, runs of a server. */

export interface Section {
  span: string;
  label: string;
}

/** Labels the sections of a resource's log. Those of pods are `pod:RESOURCE:POD` and `pod:RESOURCE:POD:CONTAINER`. */
export function labelSections(resource: string, spans: readonly string[]): Section[] {
  const ofPod = `pod:${resource}:`;
  return spans.map((span) => {
    if (span.startsWith(ofPod)) {
      return { span, label: span.slice(ofPod.length).split(":").join(" / ") };
    }
    const [kind, ...rest] = span.split(":");
    switch (kind) {
      case "podlogstream":
        return { span, label: rest.join(" / ") };
      default:
        return { span, label: rest.length > 0 ? `${kind} ${rest.at(-1)}` : span };
    }
  });
}
