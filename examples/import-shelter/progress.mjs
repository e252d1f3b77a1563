// @ts-check
// How far the import is: a bar that is redrawn on a terminal, a line now and then elsewhere.

const REDRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;
const MAX_BAR_WIDTH = 24;

/**
 * @typedef {object} Standing
 * @property {number} done rows finished, those of earlier runs included
 * @property {number} total rows
 * @property {number} sent rows finished in this run
 * @property {number} waitingUntilMs milliseconds since 1970, 0 when nothing is waited for
 */

export class Progress {
  #stream;
  #standing;
  #startedAtMs = Date.now();
  #timer;
  #announcedUntilMs = 0;
  #nextLineAtMs = Date.now() + LINE_EVERY_MS;

  /**
   * @param {NodeJS.WriteStream} stream
   * @param {() => Standing} standing
   */
  constructor(stream, standing) {
    this.#stream = stream;
    this.#standing = standing;
    this.#timer = setInterval(() => this.#show(), REDRAW_EVERY_MS);
    this.#timer.unref();
  }

  /** Shows the last state and leaves the cursor on a line of its own. */
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
    const { waitingUntilMs } = this.#standing();
    const isNewWait = waitingUntilMs > this.#announcedUntilMs && waitingUntilMs > Date.now() + 1000;
    if (!isNewWait && Date.now() < this.#nextLineAtMs) return;
    // A wait is told once, however long it is.
    if (!isNewWait && waitingUntilMs > 0) return;
    if (isNewWait) this.#announcedUntilMs = waitingUntilMs;
    this.#nextLineAtMs = Date.now() + LINE_EVERY_MS;
    this.#stream.write(`${this.#text()}\n`);
  }

  #draw() {
    const { done, total } = this.#standing();
    const text = this.#text();
    const columns = (this.#stream.columns || 80) - 1;
    // On a narrow terminal the bar gives way to the words.
    const width = Math.max(0, Math.min(MAX_BAR_WIDTH, columns - text.length - '[] '.length));
    const filled = total === 0 ? width : Math.floor((done / total) * width);
    const bar = width > 0 ? `[${'#'.repeat(filled).padEnd(width, '-')}] ` : '';
    this.#stream.write(`\r\u001b[2K${(bar + text).slice(0, columns)}`);
  }

  /** @returns {string} */
  #text() {
    const { done, total, sent, waitingUntilMs } = this.#standing();
    const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
    const parts = [`${grouped(done)}/${grouped(total)} rows`, `${percent}%`];
    const rowsPerMs = sent / Math.max(1, Date.now() - this.#startedAtMs);
    const isUnderWay = sent > 0 && done < total;
    if (isUnderWay && waitingUntilMs === 0) {
      parts.push(`${grouped(Math.round(rowsPerMs * 60_000))}/min`);
    }
    if (isUnderWay) parts.push(`ETA ${duration((total - done) / rowsPerMs)}`);
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
 * @returns {string} `hh:mm:ss` here, with the date when it is not today
 */
function clock(timeMs) {
  const time = new Date(timeMs);
  const [hours, minutes, seconds] = [time.getHours(), time.getMinutes(), time.getSeconds()];
  const text = [hours, minutes, seconds].map((part) => String(part).padStart(2, '0')).join(':');
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? text : `${time.toLocaleDateString('en-CA')} ${text}`;
}
