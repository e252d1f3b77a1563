// @ts-check
// Shows the progress: a bar on a terminal, otherwise a line every ten seconds.

const REDRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;
const MAX_BAR_WIDTH = 24;

/**
 * @typedef {object} Counts
 * @property {number} done rows finished, including those of earlier runs
 * @property {number} total rows
 * @property {number} sent rows finished in this run
 * @property {number} waitingUntilMs milliseconds since 1970, 0 if not waiting
 */

export class Progress {
  #stream;
  #counts;
  #startedAtMs = Date.now();
  #timer;
  #announcedUntilMs = 0;
  #nextLineAtMs = Date.now() + LINE_EVERY_MS;

  /**
   * @param {NodeJS.WriteStream} stream
   * @param {() => Counts} counts
   */
  constructor(stream, counts) {
    this.#stream = stream;
    this.#counts = counts;
    this.#timer = setInterval(() => this.#show(), REDRAW_EVERY_MS);
    this.#timer.unref();
  }

  /** Shows the final state and ends the line. */
  end() {
    clearInterval(this.#timer);
    if (!this.#stream.isTTY) return;
    this.#draw();
    this.#stream.write('\n');
  }

  #show() {
    if (this.#stream.isTTY) {
      this.#draw();
      return;
    }
    const { waitingUntilMs } = this.#counts();
    const isNewWait = waitingUntilMs > this.#announcedUntilMs && waitingUntilMs > Date.now() + 1000;
    if (!isNewWait && Date.now() < this.#nextLineAtMs) return;
    // Report each wait once.
    if (!isNewWait && waitingUntilMs > 0) return;
    if (isNewWait) this.#announcedUntilMs = waitingUntilMs;
    this.#nextLineAtMs = Date.now() + LINE_EVERY_MS;
    this.#stream.write(`${this.#text()}\n`);
  }

  #draw() {
    const { done, total } = this.#counts();
    const text = this.#text();
    const columns = (this.#stream.columns || 80) - 1;
    // A narrow terminal shows the text instead of the bar.
    const width = Math.max(0, Math.min(MAX_BAR_WIDTH, columns - text.length - '[] '.length));
    const filled = total === 0 ? width : Math.floor((done / total) * width);
    const bar = width > 0 ? `[${'#'.repeat(filled).padEnd(width, '-')}] ` : '';
    this.#stream.write(`\r\u001b[2K${(bar + text).slice(0, columns)}`);
  }

  /** @returns {string} */
  #text() {
    const { done, total, sent, waitingUntilMs } = this.#counts();
    const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
    const parts = [`${grouped(done)}/${grouped(total)} rows`, `${percent}%`];
    const rowsPerMs = sent / Math.max(1, Date.now() - this.#startedAtMs);
    const isRunning = sent > 0 && done < total;
    if (isRunning && waitingUntilMs === 0) {
      parts.push(`${grouped(Math.round(rowsPerMs * 60_000))}/min`);
    }
    if (isRunning) parts.push(`ETA ${duration((total - done) / rowsPerMs)}`);
    if (waitingUntilMs > 0) parts.push(`waiting for the limit until ${clock(waitingUntilMs)}`);
    return parts.join('  ');
  }
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
  const [hours, minutes, seconds] = [time.getHours(), time.getMinutes(), time.getSeconds()];
  const text = [hours, minutes, seconds].map((part) => String(part).padStart(2, '0')).join(':');
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? text : `${time.toLocaleDateString('en-CA')} ${text}`;
}
