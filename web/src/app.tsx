import { route } from "./model/route";
import { Banner } from "./parts/Banner";
import { Header } from "./parts/Header";
import { Help } from "./parts/Help";
import { Notices } from "./parts/Notices";
import { Palette } from "./parts/Palette";
import { LogsView } from "./views/LogsView";
import { Overview } from "./views/Overview";
import { ResourceView } from "./views/ResourceView";

export function App() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header />
      <Banner />
      <View />
      <Notices />
      <Help />
      <Palette />
    </>
  );
}

function View() {
  const current = route.value;
  switch (current.view) {
    case "overview":
      return <Overview />;
    case "logs":
      return <LogsView />;
    case "resource":
      return <ResourceView key={current.name} name={current.name} />;
  }
}
