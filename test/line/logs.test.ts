import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { projectFiles, readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

const URLS = 1500;

/** Every text in the code that a log call may begin with: what an operator can look for. */
function eventsInCode(): Set<string> {
  const code = projectFiles('src')
    .filter(path => path.endsWith('.ts'))
    .map(readProjectFile)
    .join('\n');
  const calls = code.matchAll(/\blog(?:\.(?:error|warn|info|debug)|\[[^\]]*\])\(([^{;]*)/g);
  return new Set(
    [...calls].flatMap(([, first = '']) => [...first.matchAll(/'([^']+)'/g)].map(m => m[1] ?? '')),
  );
}

interface Line {
  time: string;
  level: string;
  daemon: string;
  event: string;
  [field: string]: unknown;
}

describe('the log of a whole LCC under load', () => {
  const site = createServer((request, response) => {
    const number = Number(/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0);
    if (number % 50 === 7) request.socket.destroy();
    else if (number % 50 === 8) response.writeHead(404).end();
    else if (number % 50 === 9) response.writeHead(503).end('not\nnow "\u001b[31m');
    else response.end(`page ${number}`);
  });
  let lcc: Lcc;
  let lines: string[] = [];

  before(async () => {
    await new Promise<void>(resolve => void site.listen(0, '127.0.0.1', resolve));
    const address = site.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
    lcc = await startLcc(url, '[qm]\nretry_delay_ms = 0\nretries = 1\n');
    await lcc.announce(Array.from({ length: URLS }, (_, i) => urlTag(`p${i}`)));
    // What is noisy besides: a wrong password, garbage, a connection cut, a daemon killed, the operator.
    await lcc.sh(`echo '${urlTag('p0')}' | LCC_PWD=wrong lcccp --uns=${lcc.uns} --pid=1`);
    for (const garbage of [
      '<!DOCTYPE a>',
      '\u0000\n{"a":1}\n',
      `<lococa:init><provider id="1" passwd="x\n"`,
    ]) {
      await new Promise<void>(resolve => {
        const socket = connect(lcc.uns.slice('unix:'.length), () => void socket.end(garbage));
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
        socket.resume();
      });
    }
    const daemons = await lcc.daemons();
    process.kill(daemons['lccd-bm']?.pid ?? 0, 'SIGKILL');
    await lcc.run('lccctl pause && lccctl resume && lccctl flush');
    await until('all daemons answer', async () => (await lcc.sh('lccstat')).status === 0);
    await lcc.idle();
    await lcc.stop();
    lines = lcc.log.trimEnd().split('\n');
  });
  after(async () => {
    site.close();
    await lcc.remove();
  });

  it('is one JSON object a line: when, how bad, who, what', () => {
    for (const line of lines) {
      const { time, level, daemon, event } = JSON.parse(line) as Line;
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, line);
      assert.match(level, /^(error|warn|info)$/, line);
      assert.match(daemon, /^lcc(d|bot|d-uns|d-qm|d-bm)$/, line);
      assert.equal(typeof event, 'string', line);
      assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f]/);
    }
  });

  it('names every event by a text that stands in the code; all that varies is in fields', () => {
    const known = eventsInCode();
    const seen = new Set(lines.map(line => (JSON.parse(line) as Line).event));
    assert.ok(seen.size > 8);
    assert.deepEqual(
      [...seen].filter(event => !known.has(event)),
      [],
    );
  });

  it('has no line for each url', () => {
    assert.ok(
      lines.length < 100,
      `${lines.length} lines for ${URLS} urls:\n${lines.slice(0, 120).join('\n')}`,
    );
  });

  it('says of a set which provider, of a refusal which code', () => {
    const of = (event: string) =>
      lines.map(line => JSON.parse(line) as Line).filter(line => line.event === event);
    assert.deepEqual(
      of('set accepted').map(({ daemon, pid, level }) => [daemon, pid, level]),
      [['lccd-uns', 1, 'info']],
    );
    assert.deepEqual(
      of('set absorbed').map(({ pid, queued }) => [pid, queued]),
      [[1, URLS]],
    );
    assert.ok(of('CP refused').length > 0);
    assert.ok(
      of('CP refused').every(({ code, reason }) => typeof code === 'number' && typeof reason === 'string'),
    );
    // Of one that is not let in only what it says it is.
    assert.deepEqual(
      of('CP refused')
        .filter(({ code }) => code === 101)
        .map(({ pid, claimed_pid: claimed }) => [pid, claimed]),
      [[undefined, 1]],
    );
    assert.deepEqual(
      of('child died, restarting').map(({ child }) => child),
      ['lccd-bm'],
    );
    // `pid` is a provider everywhere.
    assert.deepEqual(
      lines.filter(line => /"pid":/.test(line) && !/"pid":1\b/.test(line)),
      [],
    );
  });
});
