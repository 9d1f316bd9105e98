import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Machines } from '../../src/wire/machines.js';

const offer = (machines: Record<string, string>) => ({
  machineIds: Object.keys(machines),
  storeIds: Object.values(machines),
});

describe('machines and where they are connected', () => {
  it('knows the connection of each, and forgets those that it does not name any more', () => {
    const machines = new Machines<string>();
    assert.deepEqual(machines.set('relay', offer({ m1: 's1', m2: 's2' })), []);
    assert.deepEqual(machines.set('other', offer({ m3: 's3' })), []);
    assert.deepEqual(machines.all(), { machineIds: ['m1', 'm2', 'm3'], storeIds: ['s1', 's2', 's3'] });
    assert.equal(machines.linkOf('m2'), 'relay');
    machines.set('relay', offer({ m2: 's2' }));
    assert.equal(machines.linkOf('m1'), undefined);
    machines.remove('relay');
    assert.deepEqual(machines.all().machineIds, ['m3']);
  });

  it('refuses a second machine with an id that is taken, and leaves the first alone', () => {
    const machines = new Machines<string>();
    machines.set('first', offer({ m1: 's1' }));
    const [refusal, ...more] = machines.set('second', offer({ m1: 's2', m2: 's3' }));
    assert.deepEqual(more, []);
    assert.deepEqual([refusal?.link, refusal?.machineId], ['second', 'm1']);
    assert.match(refusal?.why ?? '', /machine "m1": another machine of that id is connected; give this one/);
    assert.equal(machines.linkOf('m1'), 'first');
    assert.equal(machines.linkOf('m2'), 'second');
    machines.remove('second');
    assert.equal(machines.linkOf('m1'), 'first');
  });

  it('follows a machine to its new connection and refuses what is left of the old one', () => {
    const machines = new Machines<string>();
    machines.set('old', offer({ m1: 's1' }));
    const [refusal] = machines.set('new', offer({ m1: 's1' }));
    assert.deepEqual([refusal?.link, refusal?.machineId], ['old', 'm1']);
    assert.equal(machines.linkOf('m1'), 'new');
    machines.remove('old');
    assert.equal(machines.linkOf('m1'), 'new');
  });

  it('follows nobody back to a relay that has not heard yet that a machine has left it', () => {
    const machines = new Machines<string>();
    machines.set('left', offer({ m1: 's1', m2: 's2' }));
    assert.deepEqual(machines.set('joined', offer({ m1: 's1' })).length, 1);
    assert.deepEqual(
      machines.set('left', offer({ m1: 's1', m2: 's2', m3: 's3' })),
      [],
      'said before it heard',
    );
    assert.equal(machines.linkOf('m1'), 'joined');
    assert.deepEqual(machines.of('left'), ['m2', 'm3']);
    machines.set('left', offer({ m2: 's2' }));
    const [back] = machines.set('left', offer({ m1: 's1', m2: 's2' }));
    assert.deepEqual([back?.link, machines.linkOf('m1')], ['joined', 'left'], 'and it may come back there');
  });

  it('takes machines that do not name their store for different ones', () => {
    const machines = new Machines<string>();
    machines.set('one', { machineIds: ['m1'], storeIds: [] });
    assert.equal(machines.set('two', { machineIds: ['m1'], storeIds: [] })[0]?.link, 'two');
    assert.deepEqual(machines.all(), { machineIds: ['m1'], storeIds: ['-'] });
  });
});
