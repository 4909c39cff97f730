/** Where the page begins: it connects, and fetches the rest of itself at the same time. */

import { openEarly } from "./model/early";

openEarly();
void import("./main");
