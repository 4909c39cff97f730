import { render } from "preact";
import { App } from "./App";
import { startShortcuts } from "./shortcuts";
import { startRouting } from "../model/route";
import { startTheme } from "../model/theme";
import { startClock } from "../model/time";
import { startNotifications } from "../model/notifications";
import { connection, session } from "./appState";
import { startTabStatus } from "./tabStatus";
import { applyUrl, startUrlSync } from "./urlSync";

const root = document.getElementById("page");
if (root) {
  startTheme();
  startRouting(applyUrl);
  startUrlSync();
  startClock(() => connection.state.peek() !== "lost");
  connection.start();
  startTabStatus();
  startNotifications(session);
  startShortcuts();
  render(<App />, root);
}
