/** Where the page begins: it connects, fetches the rest of itself at the same time, and goes on when it has something to show. */

import { openEarly } from "./model/early";

void openEarly().then(() => import("./main"));
