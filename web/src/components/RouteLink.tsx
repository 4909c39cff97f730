import type { ComponentChildren } from "preact";
import { navigate, routePath, type Route } from "../model/route";

interface Properties {
  to: Route;
  class?: string;
  title?: string;
  "aria-label"?: string;
  "aria-current"?: "page" | undefined;
  children: ComponentChildren;
}

/** A link inside the page: a plain click stays on it, anything else is the browser's. */
export function RouteLink({ to, children, ...rest }: Properties) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={routePath(to)} onClick={follow}>
      {children}
    </a>
  );
}
