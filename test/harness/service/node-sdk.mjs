// @ts-check
// Stands in for @opentelemetry/sdk-node, which has a hundred packages: writes each span as a line
// of JSON to the file TEST_SPANS.
import { appendFileSync } from 'node:fs';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

/** @type {import('@opentelemetry/sdk-trace-node').SpanExporter} */
const exporter = {
  export(spans, done) {
    const lines = spans.map((span) => {
      const { traceId, spanId } = span.spanContext();
      const parentId = span.parentSpanContext?.spanId;
      const { name, attributes } = span;
      return `${JSON.stringify({ name, traceId, spanId, parentId, attributes })}\n`;
    });
    appendFileSync(process.env['TEST_SPANS'] ?? '', lines.join(''));
    done(/** @type {any} */ ({ code: 0 }));
  },
  shutdown: () => Promise.resolve(),
};

export class NodeSDK {
  /** @param {{ instrumentations: import('@opentelemetry/instrumentation').Instrumentation[] }} options */
  constructor({ instrumentations }) {
    // A team may also register these.
    this.instrumentations = [
      ...instrumentations,
      new PgInstrumentation(),
      new IORedisInstrumentation(),
    ];
  }

  start() {
    this.provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    this.provider.register();
    registerInstrumentations({ instrumentations: this.instrumentations });
  }

  shutdown() {
    return this.provider?.shutdown();
  }
}
