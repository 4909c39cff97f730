import { route } from "../model/route";
import { Banner } from "../components/Banner";
import { ButtonForm } from "../components/ButtonForm";
import { Header } from "../components/Header";
import { Help } from "../components/HelpDialog";
import { Notices } from "../components/Toasts";
import { Palette } from "../components/CommandPalette";
import { ResourceList } from "../components/Sidebar";
import { LogsView, StarredView } from "../views/LogsView";
import { Overview } from "../views/Overview";
import { ResourceView } from "../views/ResourceView";

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
      <ButtonForm />
      <Palette />
    </>
  );
}

function View() {
  const current = route.value;
  if (current.view === "overview") return <Overview />;
  // The list stays as it is, whatever is shown beside it.
  return (
    <div class="split">
      <ResourceList />
      {current.view === "logs" ? <LogsView key="logs" /> : null}
      {current.view === "starred" ? <StarredView key="starred" /> : null}
      {current.view === "resource" ? <ResourceView key={`of ${current.name}`} name={current.name} /> : null}
    </div>
  );
}
