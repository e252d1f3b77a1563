// @ts-check
// Shows the progress: a bar on a terminal, otherwise a line every ten seconds and for each wait.

import cliProgress from 'cli-progress';

/**
 * @typedef {object} State
 * @property {number} value of `total`
 * @property {number} remainingMs 0: unknown, or nothing remains
 * @property {number} waitingUntilMs milliseconds since 1970, 0 if not waiting
 * @property {string} text such as `5/10 rows`
 */

const UPDATE_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;

/**
 * @param {number} total
 * @param {() => State} read
 * @returns {() => void} shows the final state and ends the line
 */
export function showProgress(total, read) {
  let announcedUntilMs = 0;
  const bar = new cliProgress.SingleBar({
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: LINE_EVERY_MS,
    hideCursor: true,
    format: (options, { progress }, /** @type {Partial<State>} */ state) => {
      const { text = '', remainingMs = 0, waitingUntilMs = 0 } = state;
      const parts = [text, `${Math.floor(progress * 100)}%`];
      if (remainingMs > 0) parts.push(`ETA ${duration(remainingMs)}`);
      if (waitingUntilMs > 0) parts.push(`waiting for the limit until ${clock(waitingUntilMs)}`);
      return `[${cliProgress.Format.BarFormat(progress, options)}] ${parts.join('  ')}`;
    },
  });
  const update = () => {
    const { value, ...state } = read();
    bar.update(Math.min(value, total), state);
    const { waitingUntilMs } = state;
    if (process.stderr.isTTY || waitingUntilMs < announcedUntilMs + 1000) return;
    announcedUntilMs = waitingUntilMs;
    console.error(`waiting for the limit until ${clock(waitingUntilMs)}`);
  };
  const { value, ...state } = read();
  bar.start(total, value, state);
  const timer = setInterval(update, UPDATE_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    update();
    bar.stop();
  };
}

/**
 * @param {number} count
 * @returns {string} with a comma between thousands
 */
export function grouped(count) {
  return count.toLocaleString('en-US');
}

/**
 * @param {number} ms
 * @returns {string} `m:ss` or `h:mm:ss`
 */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const tail = String(seconds % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}

/**
 * @param {number} timeMs milliseconds since 1970
 * @returns {string} local time as `hh:mm:ss`, with the date if it is not today
 */
function clock(timeMs) {
  const time = new Date(timeMs);
  const text = time.toTimeString().slice(0, 8);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? text : `${time.toLocaleDateString('en-CA')} ${text}`;
}
