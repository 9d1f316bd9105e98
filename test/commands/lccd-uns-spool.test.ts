import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { accepted, codeOf, Cp, init, newHome, newReceiver, set, SITE } from '../support/uns.js';
import { lccpidb } from '../support/lccpidb.js';

describe('lccd-uns and its spool', () => {
  it('forgets nothing it did not acknowledge, keeps nothing that was cut', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    const document = init(7, password) + set('full', 'a.html', 'b.html').trimEnd();
    for (const length of [document.length - 1, document.length - 20, init(7, password).length + 50]) {
      const cp = new Cp(daemon.port).send(document.slice(0, length));
      await cp.hears('</lococa:init_accepted>');
      cp.socket.resetAndDestroy();
      await cp.reply;
      const ended = new Cp(daemon.port);
      ended.socket.end(document.slice(0, length));
      assert.equal(codeOf(await ended.reply), 204);
    }
    assert.deepEqual([home.spooled(), home.spooled('tmp')], [[], []]);
    await daemon.stop();
  });

  it('spools while the Queue Manager is away, and hands over in order when it returns', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    for (const curl of ['a', 'b', 'c']) {
      assert.equal(
        accepted(await new Cp(daemon.port).send(init(7, password) + set('partial', curl)).reply),
        1,
      );
    }
    assert.equal(home.spooled().length, 3);
    const receiver = await newReceiver(home);
    await receiver.until(({ sets }) => sets.length === 3);
    assert.deepEqual(
      receiver.sets.map(({ curls }) => curls[0]),
      ['a', 'b', 'c'],
    );
    await daemon.stop();
    assert.deepEqual(home.spooled(), []);
  });

  it('has a provider whose sets it spools kept, until the Queue Manager has taken them', async () => {
    const home = newHome();
    home.addProvider(8);
    const password = home.addProvider(7);
    const daemon = await home.start();
    for (const curl of ['a', 'b'])
      accepted(await new Cp(daemon.port).send(init(7, password) + set('partial', curl)).reply);
    const { status, stderr } = lccpidb(home.dir, 'rm', '--pid=7');
    assert.equal(status, 64);
    assert.match(
      stderr,
      /^lccpidb: provider 7 still has 2 accepted sets in the spool of \S+; that UNS and lccd-qm must run/,
    );
    assert.equal(lccpidb(home.dir, 'rm', '--pid=8').status, 0);
    const receiver = await newReceiver(home);
    await receiver.until(({ sets }) => sets.length === 2);
    await daemon.stop();
    assert.equal(lccpidb(home.dir, 'rm', '--pid=7').status, 0);
  });

  it('refuses a set whose provider was removed while it was sent', async () => {
    const home = newHome();
    const passwords = [7, 8].map(pid => home.addProvider(pid));
    const daemon = await home.start();
    for (const kind of ['partial', 'full'] as const) {
      const document = set(kind, 'a', 'b');
      const cps = passwords.map((password, i) =>
        new Cp(daemon.port).send(init(i + 7, password) + document.slice(0, -20)),
      );
      await Promise.all(cps.map(cp => cp.hears('<errors>\n</errors>')));
      assert.equal(lccpidb(home.dir, 'rm', '--pid=7').status, 0);
      for (const cp of cps) cp.send(document.slice(-20));
      const [removed = '', kept = ''] = await Promise.all(cps.map(cp => cp.reply));
      assert.equal(codeOf(removed), 101, removed);
      assert.match(removed, /<set_rejected code="101">/);
      assert.equal(accepted(kept), 2);
      passwords[0] = home.addProvider(7);
    }
    assert.equal(home.spooled().length, 2);
    assert.deepEqual(home.spooled('tmp'), []);
    await daemon.stop();
  });

  it('says how many removals a set asks for, and gives sets that ask for the same the same digest', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    const send = async (document: string) =>
      assert.match(await new Cp(daemon.port).send(init(7, password) + document).reply, /set_accepted/);
    const mixed = (space = '') =>
      `<set set="partial" urlprefix="${SITE}">${space}<url curl="a" mimetype="text/html"/>${space}` +
      `<url curl="b" mimetype="text/html" op="delete"/><url curl="c" mimetype="text/html" furl=""/></set>`;
    await send(mixed());
    await send(mixed('\n  '));
    await send(mixed().replace('partial', 'full'));
    await send(mixed().replace(`${SITE}"`, `${SITE}x/"`));
    await send(mixed().replace('"c"', '"d"'));
    await send(set('partial', 'a'));
    const receiver = await newReceiver(home);
    await receiver.until(({ sets }) => sets.length === 6);
    assert.deepEqual(
      receiver.sets.map(({ head }) => head.deletes),
      [2, 2, 2, 2, 2, 0],
    );
    const digests = receiver.sets.map(({ head }) => head.digest ?? '');
    for (const digest of digests) assert.match(digest, /^[0-9a-f]{32}$/);
    assert.equal(digests[0], digests[1], 'white space between urls is nothing');
    assert.equal(new Set(digests.slice(1)).size, 5, 'kind, urlprefix and every url count');
    await daemon.stop();
  });

  it('sends a set again that was not answered, under the same name', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const before = await newReceiver(home);
    before.answer = () => 'hang';
    const daemon = await home.start();
    assert.equal(accepted(await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply), 1);
    await before.until(({ sets }) => sets.length === 1);
    await before.close();
    const after = await newReceiver(home);
    await after.until(({ sets }) => sets.length === 1);
    assert.deepEqual(after.sets[0], before.sets[0]);
    await daemon.stop();
  });

  it('sets aside what the Queue Manager refuses for ever, and goes on', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const receiver = await newReceiver(home);
    receiver.answer = ({ curls }) => (curls[0] === 'bad' ? 'refused' : 'absorbed');
    const daemon = await home.start();
    for (const curl of ['bad', 'good'])
      await new Cp(daemon.port).send(init(7, password) + set('partial', curl)).reply;
    await receiver.until(({ sets }) => sets.length === 2);
    await daemon.logged('set refused by the Queue Manager');
    // It says so before it does it.
    await daemon.stop();
    assert.equal(home.spooled('bad').length, 1);
  });

  it('sets a damaged entry aside, has its provider asked for a full set, and loses nothing else', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    for (const curl of ['a', 'b', 'c'])
      await new Cp(daemon.port).send(init(7, password) + set('partial', curl)).reply;
    const [, second = ''] = home.spooled();
    const path = join(home.dir, 'spool/uns/uns/new', second);
    const file = readFileSync(path);
    file.writeUInt8(file.readUInt8(file.length - 30) ^ 1, file.length - 30);
    writeFileSync(path, file);
    const receiver = await newReceiver(home);
    await receiver.until(({ sets }) => sets.length === 2);
    assert.deepEqual(receiver.damaged, [{ entry: second, pid: 7 }]);
    assert.deepEqual(
      receiver.sets.map(({ curls }) => curls[0]),
      ['a', 'c'],
    );
    assert.deepEqual(home.spooled('bad'), [second]);
    await daemon.stop();
  });

  it('takes sets with a damaged sequence, saying so once, and never refuses one without a word in the log', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const send = (port: number) => new Cp(port).send(init(7, password) + set('partial', 'a')).reply;
    const first = await home.start();
    assert.equal(accepted(await send(first.port)), 1);
    await first.stop();

    const sequence = join(home.dir, 'spool/uns/uns/sequence');
    writeFileSync(sequence, randomBytes(5000));
    const second = await home.start();
    assert.equal(accepted(await send(second.port)), 1);
    assert.equal(accepted(await send(second.port)), 1);
    await second.stop();
    assert.equal(
      second.log.match(/"level":"error"[^\n]*sequence of a spool damaged/g)?.length,
      1,
      second.log,
    );
    assert.equal(home.spooled().length, 3);

    // The last number there is: what comes after it cannot be named.
    writeFileSync(sequence, '999999999999999\n');
    const third = await home.start();
    assert.equal(codeOf(await send(third.port)), 102);
    assert.match(third.log, /"level":"error"[^\n]*"cannot take a set"[^\n]*no label/);
    await third.stop();
  });

  it('does not serve a spool that another one serves', async () => {
    const home = newHome();
    home.addProvider(7);
    const daemon = await home.start();
    await assert.rejects(
      home.start({ LCC_HOME: home.dir }),
      /served by another process|in use by a running daemon/,
    );
    await daemon.stop();
  });
});
