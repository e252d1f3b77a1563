import { to as copyTo } from 'pg-copy-streams';
import type { DataSource } from 'typeorm';
import type { PgClient } from '../pipelining/pg-client.js';

/** Yields the output of `COPY (…) TO STDOUT` as the consumer reads it, from one snapshot. */
export async function* copyOutput(dataSource: DataSource, sql: string): AsyncGenerator<Buffer> {
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as PgClient;
  const output = client.query(copyTo(sql));
  try {
    yield* output as AsyncIterable<Buffer>;
  } finally {
    // The server would wait until the rest is read.
    if (!output.readableEnded) client.abandon();
    await runner.release();
  }
}
