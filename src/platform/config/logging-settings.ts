import type { EnvironmentReader } from './environment-reader.js';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const CLIENT_ADDRESS_FORMS = ['full', 'network', 'off'] as const;
/** How the log shows client addresses: in full, as networks (IPv4 /24, IPv6 /48), or not at all. */
export type ClientAddressForm = (typeof CLIENT_ADDRESS_FORMS)[number];

export type LoggingSettings = Readonly<ReturnType<typeof readLoggingSettings>>;

export function readLoggingSettings(read: EnvironmentReader) {
  return {
    level: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    clientAddress: read.oneOf('LOG_CLIENT_ADDRESS', CLIENT_ADDRESS_FORMS, 'full'),
    /** Bytes of log lines that are buffered while standard output cannot be written. */
    bufferBytes: read.integer('LOG_BUFFER_BYTES', 4_194_304, { min: 65_536, max: 1_073_741_824 }),
  };
}
