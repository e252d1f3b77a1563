// @ts-check
/**
 * Also finds packages that have an entry for `import` only, because the transformer compiles them.
 *
 * @type {import('jest-resolve').SyncResolver}
 */
export default (path, options) => {
  try {
    return options.defaultResolver(path, options);
  } catch (error) {
    if (/^[./]/.test(path)) throw error;
    const conditions = [...(options.conditions ?? []), 'import'];
    return options.defaultResolver(path, { ...options, conditions });
  }
};
