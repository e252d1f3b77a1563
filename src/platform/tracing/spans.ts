import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { describeCause } from '../errors/error-details.js';

const tracer = trace.getTracer('platform');

/**
 * The instrumentations of drivers create no spans in this context: it has the key that
 * `suppressTracing()` of @opentelemetry/core sets. Code that runs for several requests runs in it.
 */
export const UNTRACED = ROOT_CONTEXT.setValue(
  createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'),
  true,
);

/**
 * Runs a statement in a span of its own, such as `SELECT`, if the current request is traced. The span
 * has the text of the statement and none of its values.
 */
export async function traceStatement<Result>(
  sql: string,
  run: () => Promise<Result>,
): Promise<Result> {
  if (!trace.getActiveSpan()) return context.with(UNTRACED, run);
  const text = sql.trim();
  const span = tracer.startSpan(text.split(/\W/, 1)[0] ?? '', {
    kind: SpanKind.CLIENT,
    attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
  });
  try {
    return await context.with(UNTRACED, run);
  } catch (error) {
    // Without the values that an error of PostgreSQL has.
    span.setStatus({ code: SpanStatusCode.ERROR, message: describeCause(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** What the API gives before and after an SDK is registered, and the provider of an SDK. */
interface SpanProvider {
  getDelegate?(): SpanProvider;
  forceFlush?(): Promise<void>;
}

/** Lets the SDK, if there is one, export the spans that it has buffered. */
export async function flushSpans(): Promise<void> {
  const provider = trace.getTracerProvider() as SpanProvider;
  await (provider.getDelegate?.() ?? provider).forceFlush?.();
}
