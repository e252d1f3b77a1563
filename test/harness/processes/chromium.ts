import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { until } from '../run/until.js';

/** Returns the command of an installed Chromium, or undefined. */
export function findChromium(): string | undefined {
  const commands = ['chromium', 'chromium-browser', 'google-chrome'];
  return commands.find((command) => spawnSync(command, ['--version']).status === 0);
}

interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

type Listener = (params: Record<string, unknown>) => void;

/**
 * A browser with one page, driven by the DevTools protocol over a pipe: nothing but Chromium is
 * needed.
 */
export class Chromium {
  private nextId = 1;
  private sessionId: string | undefined;
  private readonly pending = new Map<number, (message: Message) => void>();
  private readonly listeners = new Map<string, Listener[]>();

  private constructor(
    private readonly process: ChildProcess,
    private readonly profile: string,
  ) {
    let rest = '';
    (process.stdio[4] as Readable).setEncoding('utf8').on('data', (chunk: string) => {
      const messages = (rest + chunk).split('\0');
      rest = messages.pop() ?? '';
      for (const message of messages) this.receive(JSON.parse(message) as Message);
    });
  }

  /** Starts a browser with a fresh profile and an empty page. */
  static async start(command: string): Promise<Chromium> {
    const profile = await mkdtemp(join(tmpdir(), 'pets-chromium-'));
    const flags = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--window-size=1280,1600',
      `--user-data-dir=${profile}`,
      '--remote-debugging-pipe',
    ];
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;
    const browser = new Chromium(spawn(command, flags, { stdio: [...stdio] }), profile);
    const { targetId } = await browser.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await browser.call('Target.attachToTarget', { targetId, flatten: true });
    browser.sessionId = sessionId as string;
    for (const domain of ['Page', 'Network', 'Runtime', 'Log'])
      await browser.call(`${domain}.enable`);
    return browser;
  }

  /** Sends a command of the protocol and returns its result. @throws when the browser rejects it */
  async call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = this.nextId++;
    const reply = new Promise<Message>((resolve) => this.pending.set(id, resolve));
    const message = { id, method, params, ...(this.sessionId && { sessionId: this.sessionId }) };
    (this.process.stdio[3] as Writable).write(`${JSON.stringify(message)}\0`);
    const { result, error } = await reply;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  /** Calls the listener at every event of the page. */
  on(event: string, listener: Listener): void {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  /** Opens an address, and waits until the page is loaded. */
  async open(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => this.on('Page.loadEventFired', () => resolve()));
    await this.call('Page.navigate', { url });
    await loaded;
  }

  /** Evaluates JavaScript on the page; promises are awaited. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const options = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.call('Runtime.evaluate', options);
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return (result as { value: Value }).value;
  }

  /** Waits until an element matches. @param selector CSS */
  async waitFor(selector: string): Promise<void> {
    const found = `!!document.querySelector(${JSON.stringify(selector)})`;
    await until(() => this.evaluate<boolean>(found));
  }

  /** Waits for an element and clicks it. */
  async click(selector: string): Promise<void> {
    await this.waitFor(selector);
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  }

  /** Waits for an input element and replaces its text. */
  async type(selector: string, text: string): Promise<void> {
    await this.waitFor(selector);
    const input = `document.querySelector(${JSON.stringify(selector)})`;
    await this.evaluate(`${input}.focus(), ${input}.select()`);
    await this.call('Input.insertText', { text });
  }

  async close(): Promise<void> {
    const exited = once(this.process, 'exit');
    await this.call('Browser.close');
    await exited;
    await rm(this.profile, { recursive: true, force: true });
  }

  private receive({ id, method, params = {}, ...message }: Message): void {
    if (id !== undefined) {
      this.pending.get(id)?.(message);
      this.pending.delete(id);
    } else {
      for (const listener of this.listeners.get(method ?? '') ?? []) listener(params);
    }
  }
}
