import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

describe('lccstat --url', () => {
  let lcc: Lcc;
  let site: TestSite;
  let status = 403;
  before(async () => {
    site = await TestSite.listen((request, response) => {
      response.writeHead(request.url?.endsWith('closed') === true ? status : 200, {
        'content-type': 'text/html',
      });
      response.end('a page');
    });
    lcc = await startLcc(site.urlOf('/'));
    await lcc.announce(['open', 'closed'].map(curl => urlTag(curl)));
    await lcc.run('lccstat --until-idle=20');
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });
  const life = (path: string) => lcc.sh(`lccstat --url=${site.urlOf(path)}`);

  it('tells what became of a page that failed, also when lcccp has printed that', async () => {
    for (const told of ['lcccp tells it in its next run', 'lcccp has told it']) {
      const { status: exit, stdout } = await life('/closed');
      assert.equal(exit, 0);
      assert.match(
        stdout,
        /^provider +1, root http:.*\n(?:.*\n)*announced +at \d\d:\d\d.* by its owner \(lcccp\)/m,
      );
      assert.ok(stdout.includes(told), stdout);
      assert.match(
        stdout,
        /^last fetch +failed at [\d:]+: 403 .*\n(?:.*\n)*to do +Your server refused to send it\./m,
      );
      await lcc.lcccp([urlTag('open')]);
      await lcc.run('lccstat --until-idle=20');
    }
  });

  it('tells of a page that is held since when, and which cursors know', async () => {
    const { stdout } = await life('/open');
    assert.match(stdout, /^held +since [\d:]+, 6 bytes\ntold +to cursors that stand at 1 or above;/m);
    const { providers } = JSON.parse(await lcc.run(`lccstat --json --url=${site.urlOf('/open')}`)) as {
      providers: { pid: number; rows: { held: { bytes: number } }[] }[];
    };
    assert.deepEqual([providers[0]?.pid, providers[0]?.rows[0]?.held.bytes], [1, 6]);
  });

  it('forgets the failure when the page comes', async () => {
    status = 200;
    await lcc.lcccp([urlTag('closed')]);
    await lcc.run('lccstat --until-idle=20');
    assert.match(
      (await life('/closed')).stdout,
      /^last fetch +it came at .*\nheld .*\ntold .*\nto do +nothing$/m,
    );
  });

  it('says what it does not know, with 1, and refuses what is no url', async () => {
    const never = await life('/never');
    assert.deepEqual(
      [never.status, /^known +nothing\nto do .*never announced/m.test(never.stdout)],
      [1, true],
    );
    const other = await lcc.sh('lccstat --url=http://other.example.org/');
    assert.deepEqual([other.status, /^provider +none has a root around it$/m.test(other.stdout)], [1, true]);
    for (const args of ['--url=x', '--url=http://h/ --queue', '--url=http://h/ --truth'])
      assert.equal((await lcc.sh(`lccstat ${args}`)).status, 64, args);
  });
});
