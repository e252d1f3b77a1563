import type { Request, Response } from '../request/request.js';

/** A step that is informed about the response to each request that is processed. */
export interface ResponseObserver {
  /** Before the head of the response is written. */
  beforeHead?(request: Request, response: Response): void;
  /** When the response is sent or its connection has closed. */
  onClose?(request: Request, response: Response): void;
}

/** Informs its observers, in their order, about responses. */
export class ResponseObservers {
  private endsConnections = false;

  constructor(private readonly observers: readonly ResponseObserver[]) {}

  /** From now on, each connection closes after its next response. */
  closeAfterResponses(): void {
    this.endsConnections = true;
  }

  beforeHead(request: Request, response: Response): void {
    for (const observer of this.observers) observer.beforeHead?.(request, response);
    if (this.endsConnections) response.setHeader('Connection', 'close');
  }

  onClose(request: Request, response: Response): void {
    for (const observer of this.observers) observer.onClose?.(request, response);
  }
}
