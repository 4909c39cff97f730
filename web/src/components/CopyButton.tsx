import { copyText } from "../model/clipboard";
import { showToast } from "../app/appState";

export function CopyButton({ text, description }: { text: string; description: string }) {
  const copy = async () => {
    const copied = await copyText(text);
    showToast(copied ? `Copied ${description}` : `This browser does not let the page copy: ${text}`);
  };
  return (
    <button
      type="button"
      class="copy"
      aria-label={`Copy ${description}`}
      title={`Copy ${description}`}
      onClick={() => void copy()}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" class="stroke thin" />
      </svg>
    </button>
  );
}
