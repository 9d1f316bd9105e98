/** The door of lccd-uns for daemons in front: it looks, with a password, and changes nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { UnsDoor } from '../../src/rs/uns-door.js';
import { systemClock } from '../../src/lib/clock.js';
import { doorMessage } from '../../src/wire/cp-uns/client.js';
import { UNS_DOORS } from '../../src/wire/uns-places.js';
import { startDaemon } from '../support/daemon.js';
import { Home } from '../support/uns.js';
import { until, within } from '../support/until.js';

const XML = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };

test('a look takes no number, receives no errors, and sends nothing; strangers are told alike', async t => {
  const home = new Home();
  const password = home.addProvider(
    7,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'not found', ' curl="http://www.example.org/a" mimetype="text/html"');
     UPDATE pidb SET nurlerrs = 1, nurlproc = 3 WHERE pid = 7`,
  );
  home.addProvider(8, { enabled: false });
  const [cps = '', doors = '', machines = ''] = ['cp', 'door', 'fe'].map(name =>
    join(home.dir, `${name}.sock`),
  );
  const uns = startDaemon('lccd-uns', home.dir, [
    `--listen=unix:${cps}`,
    `--listen-door=unix:${doors}`,
    `--listen-fe=unix:${machines}`,
    `--qm=unix:${home.qmPath}`,
  ]);
  t.after(() => uns.stop('SIGKILL'));
  await uns.ready;

  /** All that is answered. */
  const say = (path: string, text: string) => {
    const socket = connect(path, () => void socket.write(text));
    let heard = '';
    socket.setEncoding('utf8').on('data', more => {
      heard += String(more);
      if (/<\/lococa:init_\w+>/.test(heard)) socket.end();
    });
    const ended = new Promise<string>(resolve => {
      socket.on('error', () => undefined).on('close', () => resolve(heard));
    });
    return within('the UNS answers', ended);
  };
  const init = (pid: string, word: string) => doorMessage('web', pid, word, '192.0.2.7');

  for (const _ of [1, 2]) {
    const seen = await say(doors, init('7', password));
    assert.match(
      seen,
      /<connect_info seq="0"[^>]*\/>[^]*<processing_status errors="1" processing="3">[^]*code="404"/,
    );
  }
  const wrong = await say(doors, init('7', 'wrong'));
  assert.match(wrong, /<reason code="101">/);
  assert.equal(await say(doors, init('9', password)), wrong, 'one that there is not');
  assert.match(
    await say(doors, init('8', 'wrong')),
    /<reason code="101">/,
    'whether it is disabled is for its owner',
  );
  assert.match(
    await say(doors, init('7', password).replace('"web"', '"ping"')),
    /code="104"[^>]*>this door is for/,
  );
  assert.match(await say(doors, '<x/>'), /code="104"/);
  const silent = Array.from({ length: 100 }, () => connect(doors));
  await Promise.all(silent.map(socket => within('it is connected', once(socket, 'connect'))));
  assert.match(await say(doors, init('7', password)), /code="102">[^<]*the limit is 100/);
  for (const socket of silent) socket.end();
  await until('a place is free', async () => !/the limit is/.test(await say(doors, init('7', password))));

  const ask = () => Promise.resolve({ provider: { leaveat: null } });
  const doorAt = (path: string, hello = '') =>
    new UnsDoor({
      path,
      placeOf: () => Promise.resolve({ door: { kind: 'unix', path }, hello }),
      xml: XML,
      timeoutMs: 30_000,
      clock: systemClock,
      ask,
    });
  const door = doorAt(doors);
  const { report, errors } = await door.look('7', password, '192.0.2.8');
  assert.deepEqual([report.errors, report.processing, errors[0]?.code], [1, 3, '404']);
  await assert.rejects(door.look('7', 'wrong', '192.0.2.8'), { status: 401 });
  // From another machine it comes where front ends do.
  const machine = doorAt(machines, `${UNS_DOORS.look}\r\n`);
  assert.equal((await machine.look('7', password, '192.0.2.8')).report.processing, 3);
  await assert.rejects(machine.look('7', 'wrong', '192.0.2.8'), { status: 401 });
  assert.match(await say(machines, `DOOR OTHER\r\n${init('7', password)}`), /^$/);
  const nobody = doorAt(`${doors}.not`);
  await assert.rejects(nobody.look('7', password, ''), { status: 503 });

  // A CP comes as the first.
  const cp = await say(cps, init('7', password).replace(/ door="web" for="[^"]*"/, ''));
  assert.match(cp, /<connect_info seq="1"[^>]*\/>[^]*errors="1"/);
  // It has received its errors.
  assert.match(await say(doors, init('7', password)), /<connect_info seq="1"[^]*errors="0"/);
});
