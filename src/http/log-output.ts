import { type DestinationStream, pino } from 'pino';

/** As much is written before the end of the turn. */
const TOGETHER_BYTES = 8_192;

/**
 * Returns standard output for a log: the lines of one turn of the event loop go out by one system call, at
 * its end. Nothing is lost but by a kill that no process can see coming.
 */
export function logOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, minLength: TOGETHER_BYTES });
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = false;
    output.flush();
  };
  process.on('exit', () => output.flushSync());
  return {
    write(line) {
      output.write(line);
      if (isWaiting) return;
      isWaiting = true;
      setImmediate(flush);
    },
  };
}
