/** What this browser remembers of its reader's wishes. A browser that refuses to remember is no error. */

export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(`lilt.${key}`, JSON.stringify(value));
  } catch {
    // Full, or forbidden by the reader.
  }
}

export function recall<Value>(key: string, otherwise: Value): Value {
  try {
    const found = localStorage.getItem(`lilt.${key}`);
    return found === null ? otherwise : (JSON.parse(found) as Value);
  } catch {
    return otherwise;
  }
}
