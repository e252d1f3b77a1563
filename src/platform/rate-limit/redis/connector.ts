import { connect, type Socket } from 'node:net';
import { connect as connectWithTls, type ConnectionOptions } from 'node:tls';
import { AbstractConnector } from 'ioredis';
import { lookupOneAtATime } from './lookup.js';

interface Address {
  readonly host: string;
  readonly port: number;
  /** `true` for a `rediss://` address without options. */
  readonly tls?: ConnectionOptions | true;
  readonly disconnectTimeout: number;
}

/**
 * Returns a connector for ioredis that opens each connection as ioredis does, except for the lookup of the name.
 *
 * @param onFailure is called with the error of every connection. ioredis hides those of the short connections
 *   that read the slots of a Cluster
 */
export function createConnector(onFailure: (error: Error) => void) {
  return class extends AbstractConnector {
    private readonly address: Address;

    constructor(options: unknown) {
      const address = options as Address;
      super(address.disconnectTimeout);
      this.address = address;
    }

    override connect(): Promise<Socket> {
      const { host, port, tls } = this.address;
      const target = { host, port, lookup: lookupOneAtATime };
      const options = tls === true ? {} : tls;
      this.connecting = true;
      this.stream = tls ? connectWithTls({ ...target, ...options }) : connect(target);
      this.stream.on('error', (error: Error) => {
        this.firstError = error;
        onFailure(error);
      });
      return Promise.resolve(this.stream);
    }
  };
}
