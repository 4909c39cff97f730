import type { ComponentChildren } from "preact";
import { navigate, routePath, type Route } from "../model/route";

interface Props {
  to: Route;
  class?: string;
  title?: string;
  "aria-label"?: string;
  "aria-current"?: "page" | undefined;
  children: ComponentChildren;
}

/** A link inside the page: a plain click switches the view, any other click is left to the browser. */
export function RouteLink({ to, children, ...rest }: Props) {
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
