import type { Request } from './request.js';
import { routeOf } from './request-context.js';

/** The properties of an Express router layer that this file reads. */
interface Layer {
  route?: unknown;
  /** Whether the layer is mounted on all paths, such as the last handlers of Nest. */
  slash: boolean;
  match(path: string): boolean;
}

/** Returns whether a package serves the path, for which there is no route. */
export function isMounted(request: Request): boolean {
  if (routeOf(request) !== 'unmatched') return false;
  const { stack } = request.app.router as unknown as { stack: Layer[] };
  const catchAll = stack.findIndex(({ route }) => route === request.route);
  return stack.slice(catchAll + 1).some((layer) => !layer.slash && layer.match(request.path));
}
