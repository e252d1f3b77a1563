// @ts-check
import './check-installation.cjs';

void import('./watch.mjs');
