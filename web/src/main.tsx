import { render } from "preact";
import { App } from "./app";
import { startKeys } from "./keys";
import { startRouting } from "./model/route";
import { startClock } from "./model/time";
import { startNotifications } from "./model/notifications";
import { connection, session, startTab } from "./page";
import "./styles/base.css";
import "./styles/table.css";
import "./styles/logs.css";
import "./styles/panels.css";

const root = document.getElementById("page");
if (root) {
  startRouting();
  startClock();
  connection.start();
  startTab();
  startNotifications(session);
  startKeys();
  render(<App />, root);
}
