import type { NextFunction, Request } from './request.js';

// What depends on the ticks of the event loop stands here.
//
// When Node's HTTP parser has read a head, it calls the first middleware. All steps up to the first `await`,
// which is in PlanThrottlerGuard, run in this call. Then the parser goes on with the rest of the bytes that
// have arrived: often the whole body. It ignores them if a step has called `ignoreInput` by then.
// So a request whose body will not be read reaches the first guard in the tick of its head, and a request
// whose body will probably be read waits for the next tick. All later steps find a small body complete:
// their rejections keep the connection open, and BodyGuard does not wait.

/**
 * Makes the parser ignore what follows the head of a request, because a step rejects it. Must be called in
 * the tick of the head. The connection closes after the response.
 */
export function ignoreInput(request: Request): void {
  request.state.isInputIgnored = true;
}

/** Continues in the next tick, when the parser has also read the body, if it arrived with the head. */
export function awaitArrivedInput({ socket }: Request, next: NextFunction): void {
  setImmediate(() => {
    if (!socket.destroyed) next();
  });
}
