import { render } from "preact";
import { App } from "./App";
import { startKeys } from "./shortcuts";
import { startRouting } from "../model/route";
import { startTheme } from "../model/theme";
import { startClock } from "../model/time";
import { startNotifications } from "../model/notifications";
import { arrived, connection, session, startAddress, startTab } from "./page";

const root = document.getElementById("page");
if (root) {
  startTheme();
  startRouting(arrived);
  startAddress();
  startClock(() => connection.state.peek() !== "lost");
  connection.start();
  startTab();
  startNotifications(session);
  startKeys();
  render(<App />, root);
}
