import { LogPane } from "../logs/LogPane";

export function LogsView() {
  return (
    <main id="main" class="detail-view">
      <h1 class="hidden">All logs</h1>
      <LogPane resource={undefined} />
    </main>
  );
}
