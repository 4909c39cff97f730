/** Something by its name that draws itself anew when it changes, and not because what is around it does. */

import { Component, type ComponentType } from "preact";

interface Properties {
  name: string;
  draw: ComponentType<{ name: string }>;
}

export class Once extends Component<Properties> {
  override shouldComponentUpdate(next: Properties): boolean {
    return next.name !== this.props.name || next.draw !== this.props.draw;
  }

  render({ name, draw: Draw }: Properties) {
    return <Draw name={name} />;
  }
}
