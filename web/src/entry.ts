/** Where the page begins: it connects, fetches the rest of itself at the same time, and goes on when it has something to show. */

import { openEarly } from "./connection/earlySocket";

void openEarly().then(() => import("./app/main"));
