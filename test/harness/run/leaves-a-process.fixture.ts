// A failing test that leaves a process. test/process/child-processes.test.ts runs it.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

test('fails before it stops its process', () => {
  const child = spawn('sleep', ['600'], { stdio: 'inherit' });
  writeFileSync(String(process.env['PID_FILE']), String(child.pid));
  expect(child.pid).toBe('another number');
});
