// @ts-check
// `npm start`: builds the service if necessary, and runs it in this process.
import { ensureBuild } from './build.mjs';
import './end-with-parent.mjs';

ensureBuild();
process.setSourceMapsEnabled(true);
await import(new URL('../dist/main.js', import.meta.url).href);
