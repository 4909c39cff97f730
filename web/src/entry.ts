/**
 * Entry point of the page: connects, loads the main module at the same time, and starts it when there is something to
 * show.
 */

import { openEarlySocket } from "./connection/earlySocket";

void openEarlySocket().then(() => import("./app/main"));
