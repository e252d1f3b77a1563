/** The provider of the options of nestjs-pino. */
const NESTJS_PINO_OPTIONS = 'pino-params';

interface Provider {
  token: unknown;
  instance: unknown;
}

interface NestjsPinoOptions {
  pinoHttp?: unknown;
}

/** Returns a line if nestjs-pino would log each request again, with its API key. */
export function requestLogProblems(providers: readonly Provider[]): string[] {
  const provider = providers.find(({ token }) => token === NESTJS_PINO_OPTIONS);
  if (!provider) return [];
  const [options] = [(provider.instance as NestjsPinoOptions | undefined)?.pinoHttp].flat();
  const { autoLogging, quietReqLogger } = (options ?? {}) as Record<string, unknown>;
  if (autoLogging === false && quietReqLogger === true) return [];
  return [
    'LoggerModule of nestjs-pino would log each request again, with its API key. Set `autoLogging: false` and `quietReqLogger: true` in pinoHttp, and pass LOGGER of platform/logging/logger as `logger`.',
  ];
}
