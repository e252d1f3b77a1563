// @ts-check
import { escapeXml } from './svg.mjs';

/**
 * The parts of V8's profile (--cpu-prof) that the flame graph needs. Times are in microseconds.
 *
 * @typedef {{ functionName: string, url: string, lineNumber: number }} CallFrame
 * @typedef {{ id: number, callFrame: CallFrame, children?: number[] }} ProfileNode
 * @typedef {{ nodes: ProfileNode[], samples: number[], timeDeltas: number[] }} Profile
 *
 * @typedef {object} Frame
 * @property {string} name the function, its file and line
 * @property {number} us including its callees
 * @property {Map<string, Frame>} callees by name
 */

const WIDTH = 1_200;
const ROW_HEIGHT = 17;
const HEAD_HEIGHT = 30;
const CHARACTER_WIDTH = 6.2;
/** The graph omits frames with a smaller share of the CPU time. */
const MIN_SHARE = 0.002;

/** Colours by the owner of the code. */
const COLOURS = /** @type {const} */ ([
  [/ dist\//, '#2f855a'],
  [/ pg(?:-|\/)/, '#3182ce'],
  [/ (?:@nestjs|express|router|class-validator|reflect-metadata|typeorm)\b/, '#d69e2e'],
  [/ (?:pino|sonic-boom|prom-client)\b/, '#805ad5'],
  [/ node:/, '#a0aec0'],
]);

/**
 * Returns an SVG with a bar for each function. Its width is the share of the CPU time that the
 * function and its callees took. The callees are below it.
 *
 * @param {Profile} profile
 * @param {{ title: string, skippedSeconds: number }} options `skippedSeconds`: at the start of the profile
 */
export function flameGraph(profile, { title, skippedSeconds }) {
  const root = callTree(profile, skippedSeconds * 1e6);
  /** @type {string[]} */
  const bars = [];
  let depth = 0;
  /** @param {Frame} frame @param {number} x @param {number} level */
  const draw = (frame, x, level) => {
    depth = Math.max(depth, level);
    bars.push(bar(frame, x, level, root.us));
    let left = x;
    for (const callee of [...frame.callees.values()].sort((a, b) => b.us - a.us)) {
      if (callee.us / root.us >= MIN_SHARE) draw(callee, left, level + 1);
      left += (callee.us / root.us) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = HEAD_HEIGHT + (depth + 1) * ROW_HEIGHT + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="ui-monospace, monospace" font-size="10">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="8" y="20" font-size="13">${escapeXml(title)}: CPU time by function. Green: the service, blue: pg, yellow: frameworks, purple: log and metrics, grey: Node.js</text>`,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

/**
 * @param {Profile} profile
 * @param {number} skippedUs
 * @returns {Frame}
 */
function callTree({ nodes, samples, timeDeltas }, skippedUs) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  /** @type {Frame} */
  const root = { name: 'all', us: 0, callees: new Map() };
  let elapsedUs = 0;
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index] ?? 0;
    elapsedUs += us;
    const path = pathTo(id, byId, parents);
    if (elapsedUs > skippedUs && path[0] !== '(idle)') add(root, path, us);
  }
  return root;
}

/**
 * @param {number} id
 * @param {Map<number, ProfileNode>} byId
 * @param {Map<number, number>} parents
 * @returns {string[]} names, the outermost caller first
 */
function pathTo(id, byId, parents) {
  const path = [];
  for (let at = byId.get(id); at; at = byId.get(parents.get(at.id) ?? -1)) {
    if (at.callFrame.functionName !== '(root)') path.unshift(nameOf(at.callFrame));
  }
  return path;
}

/** @param {Frame} frame @param {string[]} path @param {number} us */
function add(frame, path, us) {
  frame.us += us;
  let at = frame;
  for (const name of path) {
    let callee = at.callees.get(name);
    if (!callee) at.callees.set(name, (callee = { name, us: 0, callees: new Map() }));
    callee.us += us;
    at = callee;
  }
}

/** @param {CallFrame} frame */
function nameOf({ functionName, url, lineNumber }) {
  const [, file = url] = /(?:.*\/node_modules\/|.*\/(?=dist\/))(.*)/.exec(url) ?? [];
  return `${functionName || '(anonymous)'}${file && ` ${file}:${lineNumber + 1}`}`;
}

/** @param {Frame} frame @param {number} x @param {number} level @param {number} allUs */
function bar({ name, us }, x, level, allUs) {
  const width = (us / allUs) * WIDTH;
  const y = HEAD_HEIGHT + level * ROW_HEIGHT;
  const colour = COLOURS.find(([pattern]) => pattern.test(name))?.[1] ?? '#e2e8f0';
  const label = name.slice(0, Math.max(0, Math.floor((width - 4) / CHARACTER_WIDTH)));
  return [
    `<g><title>${escapeXml(name)}: ${((us / allUs) * 100).toFixed(1)} %</title>`,
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW_HEIGHT - 1}" fill="${colour}"/>`,
    label.length > 2
      ? `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escapeXml(label)}</text>`
      : '',
    '</g>',
  ].join('');
}
