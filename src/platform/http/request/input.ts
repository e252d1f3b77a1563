import type { NextFunction, Request } from './request.js';

// Whether the parser reads a body depends on the tick of the event loop in which a step acts.
//
// When Node's HTTP parser has read a head, it calls the first middleware. The steps run in this call until one
// of them waits. Then the parser goes on with the rest of the bytes that have arrived: often the whole body.
// It ignores them if a step has called `ignoreInput` by then. So there are two ways:
// - A body that will not be read: the step that rejects the request calls `ignoreInput` in the tick of the
//   head. For a 401, PlanThrottlerGuard does, before its first `await`. If middleware of a feature waits, the
//   parser reads the body, and it is dropped.
// - A body that will probably be read: OverloadMiddleware waits for the next tick (`awaitArrivedInput`). All
//   later steps find a small body complete, if it came with the head: their rejections keep the connection
//   open, and BodyGuard does not wait.

/**
 * Makes the parser ignore what follows the head of a request, because a step rejects it. Must be called in
 * the tick of the head. The connection closes after the response.
 */
export function ignoreInput(request: Request): void {
  request.state.isInputIgnored = true;
}

/**
 * Continues in the next tick, when the parser has also read the body, if it arrived with the head. Does not
 * continue if the connection has closed.
 */
export function awaitArrivedInput({ socket }: Request, next: NextFunction): void {
  setImmediate(() => {
    if (!socket.destroyed) next();
  });
}
