import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import type { FetchTerms, RobotResult } from '../../src/wire/fetch.js';
import {
  NearManager,
  NearRobot,
  type FromRobot,
  type ToRobot,
  type Turn,
} from '../../src/wire/near-robot.js';
import { settle } from '../support/duplex.js';

const request: FetchTerms & { lane: string } = { url: 'http://h/1', roots: ['http://h/'], lane: '7' };
const recalled = (id: number): RobotResult => ({ id, status: 'recalled' });

/** Both ends, what crosses between them copied as between threads, and what each side was told. */
function edge(more: { fetched?: (result: RobotResult) => void } = {}) {
  const heard: unknown[] = [];
  const crossings: (Turn<ToRobot> | Turn<FromRobot>)[] = [];
  const cuts: string[] = [];
  const robot: NearManager = new NearManager(
    said => {
      crossings.push(said);
      manager.hear(structuredClone(said));
    },
    {
      fetch: asked => void heard.push(asked),
      recall: (lane, begun) => void heard.push({ lane, begun }),
      closed: () => void heard.push('closed'),
    },
  );
  const manager: NearRobot = new NearRobot(
    'thread lccbot',
    {
      hello: (slots, takesUnasked) => void heard.push({ slots, takesUnasked }),
      fetched: result => (more.fetched === undefined ? void heard.push(result) : more.fetched(result)),
      closed: reason => void heard.push(`closed: ${reason?.message}`),
    },
    said => {
      crossings.push(said);
      robot.hear(structuredClone(said));
    },
    () => void cuts.push('cut'),
  );
  return { robot, manager, heard, crossings, cuts };
}

describe('the edge to a robot of the same process', () => {
  it('carries what the one over a stream does, in its order, what is said in one turn together', async () => {
    const { robot, manager, heard, crossings } = edge();
    robot.hello(4);
    await settle();
    manager.fetch(1, '/store/1', request);
    manager.fetch(2, undefined, { ...request, inline: 100 });
    manager.recall('7', true);
    await settle();
    robot.fetched(recalled(1));
    robot.fetched(recalled(2));
    await settle();
    assert.deepEqual(heard, [
      { slots: 4, takesUnasked: true },
      { ...request, id: 1, file: '/store/1' },
      { ...request, id: 2, file: '', inline: 100 },
      { lane: '7', begun: true },
      recalled(1),
      recalled(2),
    ]);
    assert.deepEqual(
      crossings.map(said => (JSON.parse(said as string) as unknown[]).length),
      [1, 3, 2],
    );
  });

  it('carries content as it is, beside other results', async () => {
    const { robot, heard } = edge();
    const content = Buffer.from('User-agent: *\n');
    const whole = { http: 200, isCut: false, wireBytes: 1, elapsedMs: 2.5 };
    robot.fetched(recalled(1));
    robot.fetched({ id: 2, status: 'inline', content, ...whole });
    await settle();
    assert.deepEqual(heard[0], recalled(1));
    assert.deepEqual(heard[1], { id: 2, status: 'inline', content: new Uint8Array(content), ...whole });
  });

  it('is over when the thread is lost: once, and whatever still comes', async () => {
    const { robot, manager, heard } = edge();
    robot.hello(1);
    robot.fetched(recalled(1));
    manager.lost(new LccError('peer.unavailable', 'it has ended'));
    manager.lost(new LccError('peer.unavailable', 'again'));
    await settle();
    assert.deepEqual(heard, ['closed: it has ended']);
  });

  it('is cut, and its robot ended, when that says what it was not asked', async () => {
    const violate = ({ id }: RobotResult): void => {
      throw manager.channel.violation(`<fetched id="${id}">: no such fetch is with this robot`);
    };
    const { robot, manager, heard, cuts } = edge({ fetched: violate });
    robot.fetched(recalled(9));
    robot.fetched(recalled(10));
    await settle();
    assert.deepEqual(heard, ['closed: thread lccbot: <fetched id="9">: no such fetch is with this robot']);
    assert.deepEqual(cuts, ['cut']);
  });

  it('tells a robot that nothing more is wanted', () => {
    const { robot, heard } = edge();
    robot.close();
    assert.deepEqual(heard, ['closed']);
  });
});
