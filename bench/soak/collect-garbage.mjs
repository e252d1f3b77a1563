// @ts-check
// Loaded into a service that is measured (node --expose-gc --import …): SIGUSR2 collects its
// garbage.
process.on('SIGUSR2', () => {
  globalThis.gc?.();
});
