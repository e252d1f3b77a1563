import { prettyFactory } from 'pino-pretty';

const options = { singleLine: true, translateTime: 'SYS:HH:MM:ss.l' };
const format = prettyFactory(options);
/** Identifiers and addresses would make the line longer than a terminal is wide. */
const formatRequest = prettyFactory({
  ...options,
  include: 'time,level,aborted,cause,err',
  messageFormat: summary,
});

/** Characters that would end the line or control the terminal. A path comes from the client. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a JSON line of the log as a person reads it on a terminal. A stack takes more lines. */
export function terminalLine(line: string): string {
  return line.includes('"msg":"request"') ? formatRequest(line) : format(line);
}

function summary(line: Record<string, unknown>): string {
  type Members = Record<string, string | undefined>;
  const { method, path, status, code, replayed, durationMs } = line as Members;
  const readablePath = path?.replace(CONTROLS, encodeURIComponent);
  const duration = `${Number(durationMs).toFixed(1)} ms`;
  return [method, readablePath, status, code, replayed && 'replayed', duration]
    .filter((part) => part)
    .join(' ');
}
