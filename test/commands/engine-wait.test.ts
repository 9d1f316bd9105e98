import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startDaemon } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';
import { KeptHomes } from '../support/kept-homes.js';

const started = noEngine === false ? await Engine.start() : undefined;

describe('A command that waits for the engine', { skip: noEngine }, () => {
  const engine = started as Engine;
  const homes = new KeptHomes(engine);

  it('says so within seconds, once, and goes on when that answers', async () => {
    const lcc = await homes.owner();
    engine.node.freeze();
    const waiting = [
      ['lccmap', 'list'],
      ['lcckeep', 'verify'],
      ['lccpidb', 'add', '--pid=9', '--root=http://nine.example/'],
    ].map(([name = '', ...args]) => startDaemon(name, lcc.home, args, lcc.env));
    await Promise.all(waiting.map(command => command.logged('the engine does not answer yet: '))).finally(
      () => engine.node.thaw(),
    );
    for (const command of waiting) {
      assert.equal(await command.ended, 0, command.log);
      assert.equal(command.log.split('does not answer yet').length, 2, command.log);
    }
  });
});
