import {
  type Attributes,
  context,
  createContextKey,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { VERSION } from '../config/version.js';
import { describeCause } from '../logging/error-details.js';

const tracer = trace.getTracer('animal-adoption-store', VERSION);

/**
 * The instrumentations of drivers create no spans in this context: it has the key that
 * `suppressTracing()` of @opentelemetry/core sets. Code that runs for several requests runs in it.
 */
export const UNTRACED = ROOT_CONTEXT.setValue(
  createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'),
  true,
);

const OPERATION = /^\s*(\w+)/;
/** Not a function or a subquery. */
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN)\s+"?([a-z_]\w*)\b(?!\()/i;

/**
 * Runs a statement in a span of its own, such as `SELECT pets`, if the current request is traced.
 * The span has the text of the statement and none of its values.
 */
export function traceStatement<Result>(sql: string, run: () => Promise<Result>): Promise<Result> {
  if (!trace.getActiveSpan()) return context.with(UNTRACED, run);
  const [, operation = 'statement'] = OPERATION.exec(sql) ?? [];
  const [, table] = TABLE.exec(sql) ?? [];
  const name = table === undefined ? operation : `${operation} ${table}`;
  return traceCall(name, { 'db.system.name': 'postgresql', 'db.query.text': sql.trim() }, run);
}

/** Calls another system in a span of its own, if the current request is traced. */
export function traceCall<Result>(
  name: string,
  attributes: Attributes,
  call: () => Promise<Result>,
): Promise<Result> {
  if (!trace.getActiveSpan()) return context.with(UNTRACED, call);
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  return endWith(span, context.with(UNTRACED, call));
}

/** Returns the span of the current request as W3C `traceparent`, null if it is not traced. */
export function currentTraceParent(): string | null {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? `00-${span.traceId}-${span.spanId}-0${span.traceFlags & 1}` : null;
}

/** Handles an event in a trace of its own, with a link to the request that published the event. */
export function traceEvent<Result>(
  handler: string,
  traceParent: string | null,
  handle: () => Promise<Result>,
): Promise<Result> {
  const [, traceId = '', spanId = '', traceFlags] = traceParent?.split('-') ?? [];
  const publisher = { traceId, spanId, traceFlags: Number(traceFlags), isRemote: true };
  const links = traceParent === null ? [] : [{ context: publisher }];
  const span = tracer.startSpan(handler, { root: true, kind: SpanKind.CONSUMER, links });
  return endWith(span, context.with(trace.setSpan(ROOT_CONTEXT, span), handle));
}

/** What @opentelemetry/api returns, with a part of the SDK that is registered. */
interface Delegating {
  getDelegate(): { forceFlush?: () => Promise<void> };
}

/** Exports the spans that wait for it, if an SDK is registered. */
export async function flushSpans(): Promise<void> {
  const sdk = (trace.getTracerProvider() as Partial<Delegating>).getDelegate?.();
  await sdk?.forceFlush?.();
}

async function endWith<Result>(span: Span, result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    // Without the values that an error of PostgreSQL has.
    span.setStatus({ code: SpanStatusCode.ERROR, message: describeCause(error) });
    throw error;
  } finally {
    span.end();
  }
}
