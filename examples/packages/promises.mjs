// @ts-check
// Sends the requests of a row, and checks the promises for each response, the log and the metrics.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from 'js-yaml';

/**
 * A request and its expected response. The texts of `body` and `has` are regular expressions.
 *
 * @typedef {object} Exchange
 * @property {string} request the method and the path
 * @property {string} [key] instead of the demo API key; empty for none
 * @property {Record<string, string>} [headers] SAVED stands for the text that was saved last
 * @property {unknown} [json]
 * @property {Record<string, string>} [form] the files of a multipart body
 * @property {number} status
 * @property {string} [body] without it, an error must have the Error shape
 * @property {Record<string, string>} [has] headers of the response
 * @property {string} [save] a regular expression whose group is saved
 * @property {true} [unlimited] the response has no rate limit headers
 *
 * @typedef {{ url: string, metrics: string, key: string, output: () => string }} Service
 * @typedef {{ status: number, headers: Headers, text: string }} Received
 */

const RATE_LIMIT_HEADERS = ['Limit', 'Remaining', 'Reset'].map((name) => `X-RateLimit-${name}`);
const LIMIT_MS = 15_000;
const HERE = import.meta.dirname;
/** @type {Exchange[]} */
const PUBLISHED = JSON.parse(readFileSync(join(HERE, 'published.json'), 'utf8'));
const OPENAPI = readFileSync(join(HERE, '../../openapi.yaml'), 'utf8');

/**
 * @param {Exchange[][]} rows
 * @param {string[]} log lines that the service must write
 * @param {Service} service
 */
export async function checkPromises(rows, log, service) {
  let saved = '';
  /** @type {Map<string, number>} */
  const statuses = new Map();
  for (const exchange of [...rows.flatMap(withoutKey), ...rows.flat(), ...PUBLISHED]) {
    const text = JSON.stringify(exchange).replaceAll('SAVED', saved);
    const received = await send(JSON.parse(text), service);
    checkResponse(exchange, received);
    statuses.set(received.headers.get('x-request-id') ?? '', received.status);
    saved = new RegExp(exchange.save ?? '$^').exec(received.text)?.[1] ?? saved;
  }
  await checkDescription(service.url);
  await checkLog(statuses, log, service);
}

/** The first request of a row gets 401 without a key. @param {Exchange[]} row @returns {Exchange[]} */
function withoutKey([first]) {
  if (first === undefined || first.key !== undefined) return [];
  return [{ request: first.request, key: '', status: 401 }];
}

/** @param {Exchange} exchange @param {Service} service @returns {Promise<Received>} */
async function send({ request, key, headers = {}, json, form }, service) {
  const [method = '', path = ''] = request.split(' ');
  const all = new Headers(headers);
  if (key !== '') all.set('authorization', `Bearer ${key ?? service.key}`);
  if (json !== undefined) all.set('content-type', 'application/json');
  const files = new FormData();
  for (const [name, text] of Object.entries(form ?? {})) {
    files.set(name, new Blob([text]), `${name}.txt`);
  }
  const body = form ? files : JSON.stringify(json);
  const signal = AbortSignal.timeout(LIMIT_MS);
  const response = await fetch(service.url + path, { method, headers: all, body, signal });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** @param {Exchange} exchange @param {Received} received */
function checkResponse({ request, status, body, has = {}, unlimited }, received) {
  const { headers, text } = received;
  const required = new Map(Object.entries(has));
  required.set('X-Request-Id', '.');
  if (!unlimited) RATE_LIMIT_HEADERS.forEach((name) => required.set(name, '^\\d+$'));
  if (status >= 400 && body === undefined) required.set('Content-Type', '^application/json$');
  const pattern = body ?? (status < 400 ? '' : errorPattern(status));
  const problems = [...required]
    .filter(([name, value]) => !new RegExp(value).test(headers.get(name) ?? ''))
    .map(([name]) => `${name}: ${headers.get(name)}`);
  if (received.status !== status) problems.push(`status ${received.status} instead of ${status}`);
  if (!new RegExp(pattern).test(text)) problems.push('another body');
  assert.ok(problems.length === 0, `${request}: ${problems.join(', ')} ${text.slice(0, 200)}`);
}

/** The body of an Error without members of others. @param {number} status */
const errorPattern = (status) => `^\\{"code":"\\w+","message":"[^"]+","status":${status}\\}$`;

/** Expects the published operations as in openapi.yaml. @param {string} url */
async function checkDescription(url) {
  const published = pathsOf(load(OPENAPI));
  const actual = pathsOf(await (await fetch(`${url}/openapi.json`)).json());
  for (const path of Object.keys(published)) {
    assert.deepEqual(actual[path], published[path], `another description of ${path}`);
  }
}

/** Returns the paths with all responses in place, because operations share equal ones. @param {any} document */
function pathsOf({ paths, components }) {
  const resolved = JSON.stringify(paths, (_key, value) => {
    const [, name] = /^#\/components\/responses\/(.+)$/.exec(value?.$ref) ?? [];
    return name === undefined ? value : components.responses[name];
  });
  return JSON.parse(resolved);
}

/**
 * Expects one line of the log and one count in the metrics for each request, and no other lines.
 *
 * @param {Map<string, number>} statuses by request ID
 * @param {string[]} log
 * @param {Service} service
 */
async function checkLog(statuses, log, { metrics, output }) {
  await waitFor(
    () => log.find((pattern) => !new RegExp(pattern).test(output())),
    'the log does not contain',
  );
  const linesSinceStart = () =>
    output()
      .replace(/^[^]*"msg":"listening"\}/, '')
      .split('\n')
      .filter((line) => line.startsWith('{'));
  const requests = () =>
    linesSinceStart()
      .filter((line) => line.endsWith('"msg":"request"}'))
      .map((line) => JSON.parse(line));
  await waitFor(async () => {
    const logged = requests().length;
    const text = await (await fetch(`${metrics}/metrics`)).text();
    const counts = text.matchAll(/^http_server_request_duration_seconds_count\S* (\d+)$/gm);
    const counted = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    return counted === logged ? undefined : `${counted} in the metrics, ${logged} in the log`;
  }, 'requests are not counted once:');
  for (const [id, status] of statuses) {
    const ofRequest = requests().filter(({ requestId }) => requestId === id);
    assert.equal(
      String(ofRequest.map((line) => line.status)),
      String(status),
      'not one line per request',
    );
  }
  const expected = [...log, '"msg":"request"\\}$'].map((pattern) => new RegExp(pattern));
  const other = linesSinceStart().find((line) => !expected.some((pattern) => pattern.test(line)));
  assert.equal(other, undefined, `the log contains ${other}`);
}

/** @param {() => string | undefined | Promise<string | undefined>} findProblem @param {string} text */
async function waitFor(findProblem, text) {
  for (const limit = Date.now() + LIMIT_MS; ; await delay(50)) {
    const problem = await findProblem();
    if (problem === undefined) return;
    assert.ok(Date.now() < limit, `${text} ${problem}`);
  }
}
