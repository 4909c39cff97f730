import { dismissToast, toasts } from "../app/appState";

export function Toasts() {
  return (
    <div class="notices" role="status">
      {toasts.value.map((toast) => (
        <div class="notice" key={toast.id}>
          <span>{toast.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismissToast(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
