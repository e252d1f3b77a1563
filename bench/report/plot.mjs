// @ts-check
import { escapeXml } from './svg.mjs';

/** @typedef {import('./summary.mjs').Row} Row */

const WIDTH = 760;
const LABEL_WIDTH = 250;
const VALUE_WIDTH = 90;
const BAR_HEIGHT = 16;
const LINE_HEIGHT = 22;
const HEAD_HEIGHT = 36;
const BARS_WIDTH = WIDTH - LABEL_WIDTH - VALUE_WIDTH;

/**
 * Returns an SVG of the CPU time of the Node.js process per request. Each peer has a bar for its
 * median and a line from its minimum to its maximum. Omits peers without CPU times.
 *
 * @param {Row[]} rows
 */
export function plot(rows) {
  const measured = rows.filter(({ figures }) => figures.nodeUs.median >= 0);
  const scenarios = [...new Set(measured.map(({ title }) => title))];
  let y = 0;
  const groups = scenarios.map((title) => {
    const group = measured.filter((row) => row.title === title);
    const top = y;
    y += HEAD_HEIGHT + group.length * LINE_HEIGHT;
    return plotScenario(title, group, top);
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 8}" width="${WIDTH}" height="${y + 8}" font-family="system-ui, sans-serif" font-size="13">`,
    '<title>CPU time of the Node.js process in microseconds per request</title>',
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...groups,
    '</svg>\n',
  ].join('\n');
}

/**
 * @param {string} title
 * @param {Row[]} rows
 * @param {number} top
 */
function plotScenario(title, rows, top) {
  const scale = BARS_WIDTH / Math.max(...rows.map(({ figures }) => figures.nodeUs.max), 1);
  const head = `<text x="8" y="${top + 24}" font-weight="600">${escapeXml(title)}: CPU time of Node.js, µs per request</text>`;
  const bars = [...rows]
    .sort((a, b) => a.figures.nodeUs.median - b.figures.nodeUs.median)
    .map((row, index) => plotBar(row, top + HEAD_HEIGHT + index * LINE_HEIGHT, scale));
  return [head, ...bars].join('\n');
}

/**
 * @param {Row} row
 * @param {number} y
 * @param {number} scale pixels per microsecond
 */
function plotBar({ peer, peerTitle, figures }, y, scale) {
  const { median, min, max } = figures.nodeUs;
  const x = (/** @type {number} */ us) => (LABEL_WIDTH + us * scale).toFixed(1);
  const middle = y + BAR_HEIGHT / 2;
  const baseline = y + BAR_HEIGHT - 4;
  const colour = peer.startsWith('service') ? '#0b6e4f' : '#9aa5b1';
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${baseline}" text-anchor="end">${escapeXml(peerTitle)}</text>`,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${(median * scale).toFixed(1)}" height="${BAR_HEIGHT}" fill="${colour}"/>`,
    `<path d="M${x(min)} ${middle}H${x(max)}" stroke="#1f2933" stroke-width="1.5"/>`,
    `<text x="${Number(x(max)) + 6}" y="${baseline}">${median.toFixed(0)}</text>`,
  ].join('\n');
}
