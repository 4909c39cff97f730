/** Settings that the browser keeps in local storage. Without access to it, settings last as long as the page. */

export function saveSetting(key: string, value: unknown): void {
  try {
    localStorage.setItem(`lilt.${key}`, JSON.stringify(value));
  } catch {
    // The storage is full or blocked.
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
