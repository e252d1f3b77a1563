// @ts-check

/** The import cannot continue. The message is one line for the user. */
export class ImportError extends Error {}
