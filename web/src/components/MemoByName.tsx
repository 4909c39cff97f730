/** Something by its name that draws itself anew when it changes, and not because what is around it does. */

import { Component, type ComponentType } from "preact";

interface Properties {
  name: string;
  component: ComponentType<{ name: string }>;
}

export class MemoByName extends Component<Properties> {
  override shouldComponentUpdate(next: Properties): boolean {
    return next.name !== this.props.name || next.component !== this.props.component;
  }

  render({ name, component: View }: Properties) {
    return <View name={name} />;
  }
}
