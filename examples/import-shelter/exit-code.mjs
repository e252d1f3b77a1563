// @ts-check
// Reports a failure as one line and an exit code.

import { CsvError } from './csv-reader.mjs';
import { MappingError } from './mapping.mjs';
import { UsageError } from './options.mjs';
import { ResumeFileError } from './resume-file.mjs';
import { StoreError } from './store-client.mjs';

const USAGE = [UsageError, MappingError];
const STOPPED = [StoreError, CsvError, ResumeFileError];

/**
 * Prints a failure on standard error.
 * @param {string} program its name
 * @param {unknown} error
 * @returns {number} 2 for a usage error, 1 for any other failure
 * @throws {unknown} the error itself if it is a defect of this program
 */
export function reportFailure(program, error) {
  if (!(error instanceof Error)) throw error;
  const isUsage = USAGE.some((type) => error instanceof type);
  const isSystem = 'syscall' in error; // no such file, disk full
  if (!isUsage && !isSystem && !STOPPED.some((type) => error instanceof type)) throw error;
  console.error(`${program}: ${error.message}`);
  return isUsage ? 2 : 1;
}
