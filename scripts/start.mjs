// @ts-check
import './check-installation.cjs';

void import('./run-built.mjs').then(({ runBuilt }) => runBuilt('../dist/main.js'));
