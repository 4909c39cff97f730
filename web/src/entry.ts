/** Where the page begins: it connects, fetches the rest of itself at the same time, and goes on when it has something to show. */

import { openEarlySocket } from "./connection/earlySocket";

void openEarlySocket().then(() => import("./app/main"));
