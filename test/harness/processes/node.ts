/**
 * Runs a program with Node.js. Most of its work is to load the code, which runs once: optimizing it costs a sixth of the CPU time of a
 * start.
 */
export const NODE = [process.execPath, '--no-opt'] as const;
