/** Renders a component that gets its data by a name from signals. It does not rerender when its parent does. */

import { Component, type ComponentType } from "preact";

interface Props {
  name: string;
  component: ComponentType<{ name: string }>;
}

export class MemoByName extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.name !== this.props.name || next.component !== this.props.component;
  }

  render({ name, component: View }: Props) {
    return <View name={name} />;
  }
}
