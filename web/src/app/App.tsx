import { route } from "../model/route";
import { Banner } from "../components/Banner";
import { ButtonFormDialog } from "../components/ButtonForm";
import { Header } from "../components/Header";
import { HelpDialog } from "../components/HelpDialog";
import { Toasts } from "../components/Toasts";
import { CommandPalette } from "../components/CommandPalette";
import { Sidebar } from "../components/Sidebar";
import { LogsView, StarredView } from "../views/LogsView";
import { Overview } from "../views/Overview";
import { ResourceView } from "../views/ResourceView";

export function App() {
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <Header />
      <Banner />
      <View />
      <Toasts />
      <HelpDialog />
      <ButtonFormDialog />
      <CommandPalette />
    </>
  );
}

function View() {
  const current = route.value;
  if (current.view === "overview") return <Overview />;
  // The sidebar is outside of the switch, so that it keeps its state when the view beside it changes.
  return (
    <div class="split-view">
      <Sidebar />
      {current.view === "logs" ? <LogsView key="logs" /> : null}
      {current.view === "starred" ? <StarredView key="starred" /> : null}
      {current.view === "resource" ? <ResourceView key={`of ${current.name}`} name={current.name} /> : null}
    </div>
  );
}
