import { createSocket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';

const HEADER_BYTES = 12;
/** Type and class, after the name of a question. */
const QUESTION_REST_BYTES = 4;
const TYPE_A = 1;
/** A response, recursion desired and available, no error. */
const RESPONSE_FLAGS = 0x8180;

/** A DNS server (RFC 1035) with one name, as a container engine has for a service. */
export interface NameServer {
  /** `host:port` */
  readonly address: string;
  /** Resolves at the next question for the silent name. */
  askedForSilentName(): Promise<void>;
  close(): Promise<void>;
}

interface NameServerOptions {
  host?: string;
  port?: number;
  /** A name that gets no response. */
  silentName?: string;
}

/** Starts it. @param addresses the IPv4 addresses of every name */
export async function startNameServer(
  addresses: readonly string[],
  { host = '127.0.0.1', port = 0, silentName }: NameServerOptions = {},
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const silence = new EventEmitter();
  socket.on('message', (query, client) => {
    if (nameOf(query) === silentName) silence.emit('asked');
    else socket.send(dnsResponse(query, addresses), client.port, client.address);
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  return {
    address: `${host}:${socket.address().port}`,
    askedForSilentName: async () => {
      await once(silence, 'asked');
    },
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function nameOf(query: Buffer): string {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]; length; length = query[at]) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return labels.join('.');
}

function dnsResponse(query: Buffer, addresses: readonly string[]): Buffer {
  const nameEnd = query.indexOf(0, HEADER_BYTES) + 1;
  const question = query.subarray(HEADER_BYTES, nameEnd + QUESTION_REST_BYTES);
  const records = query.readUInt16BE(nameEnd) === TYPE_A ? addresses.map(addressRecord) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(RESPONSE_FLAGS, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function addressRecord(address: string): Buffer {
  // The question's name, type A, class IN, to be kept for 1 s, 4 bytes.
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 1, 0, 4]);
  return Buffer.concat([head, Buffer.from(address.split('.').map(Number))]);
}
