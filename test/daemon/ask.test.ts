import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lookAt } from '../../src/daemon/ask.js';

test('daemons that do not answer take the time of a look together, and leave a quarter of a second to each', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-ask-'));
  const names = ['lccd-uns', 'lccd-qm', 'lccd-bm'];
  const servers: Server[] = names.map(name =>
    createServer(() => undefined).listen(join(dir, `${name}.ctl.sock`)),
  );
  t.after(() => {
    for (const server of servers) server.close();
    rmSync(dir, { recursive: true });
  });
  const problems = (await lookAt(dir, names, 5000, 600)).map(look => ('problem' in look ? look.problem : ''));
  assert.match(problems[0] ?? '', /no answer within 0\.(?:6|599) s/);
  for (const problem of problems.slice(1)) assert.match(problem, /no answer within 0\.25 s/);
});
