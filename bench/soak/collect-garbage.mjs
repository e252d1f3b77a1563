// @ts-check
// Loaded into the service with `node --expose-gc --import`. SIGUSR2 then collects garbage.
process.on('SIGUSR2', () => {
  globalThis.gc?.();
});
