import { dismissToast, toasts } from "../app/appState";

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((toast) => (
        <div class="toast" key={toast.id}>
          <span>{toast.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismissToast(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
