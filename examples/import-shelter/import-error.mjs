// @ts-check
// Reports a failure as one line and an exit code.

/** The programs cannot continue. The message is one line for the user. */
export class ImportError extends Error {
  /**
   * @param {string} message
   * @param {1 | 2} [exitCode] 2 for a usage error
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Prints a failure on standard error.
 * @param {string} program its name
 * @param {unknown} error
 * @returns {number} the exit code
 * @throws {unknown} the error itself if it is a defect of the program
 */
export function reportFailure(program, error) {
  const isSystem = error instanceof Error && 'syscall' in error; // no such file, disk full
  if (!isSystem && !(error instanceof ImportError)) throw error;
  console.error(`${program}: ${error.message}`);
  return error instanceof ImportError ? error.exitCode : 1;
}
