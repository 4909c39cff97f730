import { LogPane } from "../logs/LogPane";
import { ResourceList } from "../parts/ResourceList";

export function LogsView() {
  return (
    <div class="split">
      <ResourceList />
      <main id="main" class="detail-view">
        <h1 class="hidden">All logs</h1>
        <LogPane resource={undefined} />
      </main>
    </div>
  );
}
