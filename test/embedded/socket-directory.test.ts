import { socketDirectory } from '../../src/platform/database/embedded/server/socket-directory.js';
import type { ServerFiles } from '../../src/platform/database/embedded/server/server-files.js';

/** sockaddr_un.sun_path of Linux and of macOS, with its closing NUL. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 108 : 104;
const SOCKET_NAME = '/.s.PGSQL.5432';

/** Returns a folder for a cluster. The path of its socket has the given number of bytes. */
function clusterFor(socketPathBytes: number): string {
  const start = '/tmp/ä/';
  const length = socketPathBytes - Buffer.byteLength(start) - SOCKET_NAME.length;
  return `${start}${'x'.repeat(length)}`;
}

const directoryOf = (cluster: string): string => socketDirectory({ cluster } as ServerFiles);

test('the socket is in the folder of the cluster as long as its path fits with its NUL', () => {
  const longest = clusterFor(SOCKET_PATH_BYTES - 1);

  expect(directoryOf(longest)).toBe(longest);
});

test('a path that leaves no room for the NUL leads to a folder among the temporary files', () => {
  const tooLong = clusterFor(SOCKET_PATH_BYTES);

  expect(directoryOf(tooLong)).toMatch(/^\/tmp\/pets-[0-9a-f]{20}$/);
});
