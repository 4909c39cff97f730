import type { UIResourceLink } from "../generated/protocol";
import { endpointLabel, isWebPage, safeUrl } from "../model/endpoint";

export function Endpoints({ links }: { links: readonly UIResourceLink[] | undefined }) {
  if (!links?.length) return null;
  return (
    <ul class="endpoints" aria-label="Endpoints">
      {links.map((link) => {
        const href = safeUrl(link);
        const label = endpointLabel(link);
        return (
          <li key={link.url}>
            {href ? (
              <a
                href={href}
                target={isWebPage(href) ? "_blank" : undefined}
                rel="noopener noreferrer"
                title={link.url}
              >
                {label}
              </a>
            ) : (
              <span title={link.url}>{label}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
