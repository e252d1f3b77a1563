// @ts-check
// Loaded by `npm start` and `npm run dev`. npm runs them in a shell, which SIGTERM ends and which does not pass the signal on. So the
// process stops when its parent has ended.
const { ppid } = process;
const timer = setInterval(() => {
  if (process.ppid === ppid) return;
  clearInterval(timer);
  process.kill(process.pid, 'SIGTERM');
}, 200).unref();
