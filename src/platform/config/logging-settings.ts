import type { EnvironmentReader } from './environment-reader.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LoggingSettings = Readonly<ReturnType<typeof readLoggingSettings>>;

export function readLoggingSettings(read: EnvironmentReader) {
  return {
    level: read.oneOf('LOG_LEVEL', LEVELS, 'info'),
    /** Client addresses in the log: in full, as networks (IPv4 /24, IPv6 /48), or not at all. */
    clientAddress: read.oneOf('LOG_CLIENT_ADDRESS', ['full', 'network', 'off'], 'full'),
    /** Bytes of log lines that are buffered while standard output cannot be written. */
    bufferBytes: read.integer('LOG_BUFFER_BYTES', 4_194_304, { min: 65_536, max: 1_073_741_824 }),
  };
}
