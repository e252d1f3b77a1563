import { prettyFactory } from 'pino-pretty';

/** The parts of a request's line that `summary` shows. */
const IN_SUMMARY = 'method,path,status,code,durationMs';

const options = { singleLine: true, translateTime: 'SYS:HH:MM:ss.l' };
const format = prettyFactory(options);
const formatRequest = prettyFactory({ ...options, ignore: IN_SUMMARY, messageFormat: summary });

/**
 * Returns a line of the log as a person reads it on a terminal. Only a stack takes further lines.
 *
 * @param line one line of JSON
 */
export function terminalLine(line: string): string {
  return line.includes('"msg":"request"') ? formatRequest(line) : format(line);
}

function summary(line: Record<string, unknown>): string {
  const { method, path, status, code, durationMs } = line as Record<string, string | number>;
  return [method, path, status, code, `${durationMs} ms`].filter((part) => part).join(' ');
}
