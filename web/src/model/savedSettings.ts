/** What this browser remembers of its reader's wishes. A browser that refuses to remember is no error. */

export function saveSetting(key: string, value: unknown): void {
  try {
    localStorage.setItem(`lilt.${key}`, JSON.stringify(value));
  } catch {
    // Full, or forbidden by the reader.
  }
}

export function loadSetting<Value>(key: string, fallback: Value): Value {
  try {
    const saved = localStorage.getItem(`lilt.${key}`);
    return saved === null ? fallback : (JSON.parse(saved) as Value);
  } catch {
    return fallback;
  }
}
