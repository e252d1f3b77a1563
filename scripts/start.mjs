// @ts-check
import { runBuilt } from './run-built.mjs';

void runBuilt('../dist/main.js');
