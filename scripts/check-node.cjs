// @ts-check
// Loaded before any other file, and written so that the oldest Node.js can read it.
/* eslint-disable no-var */
'use strict';

var parts = process.versions.node.split('.');
var major = Number(parts[0]);
var minor = Number(parts[1]);

if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
  process.stderr.write(
    'Node.js ' +
      process.versions.node +
      ' is not supported. Install Node.js 24 (LTS), or at least 20.19 or 22.12.\n',
  );
  process.exit(1);
}
