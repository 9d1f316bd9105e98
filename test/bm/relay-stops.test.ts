import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fetch, numberOf, RelayWorld } from './support.js';

const recalled = (id: number) => `<fetched id="${id}" status="recalled"/>`;
const asked = (lines: string[]) => lines.map(line => /h\/(\d+)/.exec(line)?.[1]).join(' ');
/** Ids and kinds of what the source is told. */
const told = (lines: string[]) => lines.map(line => line.split(' ', 3).join(' '));

describe('a relay below which a site asks to be left alone', () => {
  it('gives back what is below it of the provider, not to another branch, until the source knows', async () => {
    const world = new RelayWorld({ laneWindow: 2 });
    const source = world.source();
    const one = await world.branch(2, 'm1');
    const two = await world.branch(2, 'm2');
    await source.say([1, 2, 3].map(id => fetch(id, '7')).join('') + fetch(4, '7.1') + fetch(5, '7.1'));
    const [first, second] = await one.hear();
    const [third, fourth] = await two.hear();
    await source.hear();
    await one.say(
      `<fetched id="${numberOf(first)}" status="error" code="503" reach="url" retryafter="60" wirebytes="5" time="0.001">no</fetched>` +
        recalled(numberOf(second)),
    );
    assert.deepEqual(told(await source.hear()), [
      '<fetched id="1" status="error"',
      '<fetched id="3" status="recalled"/>',
      '<fetched id="2" status="recalled"/>',
    ]);
    assert.ok((await one.hear()).includes('<recall lane="7"/>'));
    assert.deepEqual(await two.hear(), ['<recall lane="7.1"/>']);
    await two.say(recalled(numberOf(third)) + recalled(numberOf(fourth)));
    await source.say(fetch(6, '7.2') + fetch(7, '8'));
    assert.deepEqual(told(await source.hear()).toSorted(), [4, 5, 6].map(recalled));
    assert.equal(
      asked([...(await one.hear()), ...(await two.hear())].filter(line => line.startsWith('<fetch'))),
      '7',
    );
    await source.say('<recall lane="7"/>' + fetch(8, '7'));
    assert.equal(
      asked([...(await one.hear()), ...(await two.hear())].filter(line => line.startsWith('<fetch'))),
      '8',
    );
    await world.stop();
  });
});
