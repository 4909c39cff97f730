import { dismiss, notices } from "../app/page";

export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map((notice) => (
        <div class="notice" key={notice.id}>
          <span>{notice.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
