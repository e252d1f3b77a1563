#!/usr/bin/env node
// @ts-check
import { runBuilt } from './run-built.mjs';

void runBuilt('../dist/cli/main.js');
