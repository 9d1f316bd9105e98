import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { damagePages } from '../support/damage.js';
import { accepted, codeOf, Cp, init, newHome, newReceiver, set, SITE } from '../support/uns.js';
import { ROOT } from '../support/tree.js';

describe('lccd-uns', () => {
  it('answers a set whole and byte by byte alike, and the set reaches the Queue Manager as it came', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const receiver = await newReceiver(home);
    const daemon = await home.start();
    const document =
      init(7, password) +
      `<lococa:set set="partial" urlprefix="${SITE}">
        <url curl="a&amp;b.html" mimetype="text/html" len="5"/>
        <url c="old.html" f="" mimetype="text/html">ignored</url>
        <url curl="http://elsewhere.example.org/" mimetype="text/html"/>
      </lococa:set>`;
    const whole = await new Cp(daemon.port).send(document).reply;
    await daemon.logged('set absorbed');
    const dripped = await (await new Cp(daemon.port).drip(document)).reply;
    const numbering = / numbering="([0-9a-f]{16})"/.exec(whole)?.[1] ?? assert.fail(whole);
    assert.equal(
      whole,
      `<lococa:init_accepted>
<connect_info seq="1" lastConnectIP="" sets="0" numbering="${numbering}"/>
<mime>*/*</mime>
<quota>
<files used="0" free="1000000"/>
<space used="0" free="107374182400"/>
<fullset allowed="3" wanted="no"/>
</quota>
<processing_status errors="0" processing="0">
<errors>
</errors>
</processing_status>
</lococa:init_accepted>
<lococa:set_result>
<errors>
<url curl="http://elsewhere.example.org/" mimetype="text/html" code="304">curl is outside the provider's roots</url>
</errors>
<set_accepted received="2"/>
</lococa:set_result>
`,
    );
    assert.equal(dripped, whole.replace('seq="1" lastConnectIP=""', 'seq="2" lastConnectIP="127.0.0.1"'));
    await receiver.until(({ sets }) => sets.length === 2);
    const { head, curls } = receiver.sets[0] ?? assert.fail();
    assert.deepEqual(curls, ['a&b.html', 'old.html']);
    assert.deepEqual(
      [head.pid, head.seq, head.set, head.urlprefix, head.received, head.ip],
      [7, 1, 'partial', SITE, 2, '127.0.0.1'],
    );
    await daemon.stop();
    assert.deepEqual(home.spooled(), []);
  });

  it('sends errors back while the set is still being sent', async () => {
    const home = newHome();
    const daemon = await home.start();
    const password = home.addProvider(7);
    const cp = new Cp(daemon.port).send(init(7, password));
    cp.send(`<lococa:set set="partial"><url mimetype="text/html"/>`);
    await cp.hears('<url mimetype="text/html" code="301">');
    cp.send('</lococa:set>');
    assert.equal(accepted(await cp.reply), 0);
    await daemon.stop();
  });

  it('accepts the one document of the client of 2002, and refuses it whole when it is not escaped', async () => {
    const home = newHome();
    const password = home.addProvider(3);
    const daemon = await home.start();
    const document = readFileSync(join(ROOT, 'test/golden/cp-one-shot.xml'), 'utf8')
      .replace('id="name"', 'id="3"')
      .replace('"secret"', `"${password}"`)
      .replaceAll('http://h/', SITE);
    const reply = await new Cp(daemon.port).send(document).reply;
    assert.match(reply, /<lococa:init_accepted>[\s\S]*<\/lococa:init_accepted>/);
    assert.equal(accepted(reply), 2);
    const broken = await new Cp(daemon.port).send(document.replace('a.html', 'a.html?x=1&y=2')).reply;
    assert.equal(codeOf(broken), 103);
    assert.match(broken, /line 3, column \d+/);
    assert.equal(home.spooled().length, 1);
    await daemon.stop();
  });

  it('gives unknown providers and wrong passwords the same answer, a disabled one its own', async () => {
    const home = newHome();
    home.addProvider(7);
    const password = home.addProvider(8, { enabled: false });
    const daemon = await home.start();
    const replies = await Promise.all(
      [init(7, 'wrong'), init(99, 'wrong'), init('name', 'wrong'), init(8, 'wrong')].map(
        document => new Cp(daemon.port).send(document).reply,
      ),
    );
    assert.equal(new Set(replies).size, 1);
    assert.equal(codeOf(replies[0] ?? ''), 101);
    assert.equal(codeOf(await new Cp(daemon.port).send(init(8, password)).reply), 105);
    assert.doesNotMatch(daemon.log, new RegExp(`wrong"|${password}`));
    await daemon.stop();
  });

  it('rejects a full set of which not one url is acceptable: it would remove everything', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    const wrong = set('full', 'a.html', 'b.html').replace(SITE, 'http://elsewhere.example.org/');
    assert.equal(codeOf(await new Cp(daemon.port).send(init(7, password) + wrong).reply), 204);
    assert.deepEqual([home.spooled(), home.spooled('tmp')], [[], []]);
    await daemon.stop();
  });

  it('answers whatever comes with a code, and serves the next as if nothing had been', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    for (const [document, code] of [
      ['GET / HTTP/1.1\r\n\r\n', 103],
      ['<!DOCTYPE x [<!ENTITY a "b">]><init/>', 103],
      ['\x00\xff\xfe', 103],
      ['<init><provider id="7"', 103],
      ['<set set="full"/>', 104],
      [`<init ${'a'.repeat(100_000)}="1">`, 106],
      [`${init(7, password)}<lococa:set set="full"><url curl="a" curl="b"/></lococa:set>`, 103],
      [`${init(7, password)}<lococa:set set="full"><thing/></lococa:set>`, 104],
    ] as const) {
      const cp = new Cp(daemon.port);
      cp.socket.end(Buffer.from(document, 'latin1'));
      assert.equal(codeOf(await cp.reply), code, document.slice(0, 40));
    }
    assert.equal(accepted(await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply), 1);
    await daemon.stop();
  });

  it('keeps to the number of full sets, and takes one it wants for nothing', async () => {
    const home = newHome();
    const password = home.addProvider(7, { fullsetsallowed: 1 });
    const daemon = await home.start();
    const send = (kind: 'full' | 'partial') =>
      new Cp(daemon.port).send(init(7, password) + set(kind, 'a')).reply;
    assert.equal(accepted(await send('full')), 1);
    const refused = await send('full');
    assert.equal(codeOf(refused), 201);
    assert.match(refused, /<fullset allowed="0" wanted="no"\/>/);
    assert.match(refused, /processing="1"/, 'what waits in the spool is being processed');
    assert.equal(accepted(await send('partial')), 1);
    home.sql(`UPDATE pidb SET fullsetsused = 1, fullsetssince = unixepoch()`);
    await daemon.stop();
    await home.remove();

    const other = newHome();
    const password2 = other.addProvider(
      7,
      { fullsetsallowed: 0 },
      `UPDATE pidb SET fullsetwanted = 'old files'`,
    );
    const second = await other.start();
    const wanted = await new Cp(second.port).send(init(7, password2) + set('full', 'a')).reply;
    assert.match(wanted, /<fullset allowed="0" wanted="yes" reason="old files"\/>/);
    assert.equal(accepted(wanted), 1);
    const satisfied = await new Cp(second.port).send(init(7, password2) + set('full', 'a')).reply;
    assert.match(satisfied, /wanted="no"/);
    assert.equal(codeOf(satisfied), 201);
    await second.stop();
  });

  it('accepts one of two full sets that are sent at once when one is left', async () => {
    const home = newHome();
    const password = home.addProvider(7, { fullsetsallowed: 1 });
    const daemon = await home.start();
    const cps = [new Cp(daemon.port), new Cp(daemon.port)];
    for (const cp of cps) cp.send(init(7, password) + set('full', 'a').replace('</lococa:set>', ''));
    for (const cp of cps) await cp.hears('<lococa:set_result>');
    for (const cp of cps) cp.send('</lococa:set>');
    const replies = await Promise.all(cps.map(cp => cp.reply));
    assert.deepEqual(new Set(replies.map(codeOf)), new Set([201, NaN]));
    await daemon.stop();
  });

  it('refuses a set over the quota of files or space as a whole', async () => {
    const home = newHome();
    const password = home.addProvider(7, { filesmax: 2, spacemax: 1000 });
    const daemon = await home.start();
    const send = (document: string) => new Cp(daemon.port).send(init(7, password) + document).reply;
    assert.equal(codeOf(await send(set('full', 'a', 'b', 'c'))), 202);
    assert.equal(codeOf(await send(set('full', 'a').replace('len="5"', 'len="1001"'))), 203);
    assert.equal(accepted(await send(set('full', 'a', 'b'))), 2);
    assert.equal(home.spooled().length, 1);
    await daemon.stop();
  });

  it('names a database that is damaged while it serves, and what to do', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    assert.match(
      await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply,
      /set_accepted/,
    );
    damagePages(`${home.dir}/lcc.db`);
    assert.equal(codeOf(await new Cp(daemon.port).send(init(7, password)).reply), 102);
    await daemon.stop();
    assert.match(daemon.log, /lcc\.db: database damaged \([^"]*\); stop lccd and run lccfsck --repair"/);
  });

  it('shows errors until the CP has received them, and tells the Queue Manager up to which', async () => {
    const home = newHome();
    const more = Array.from(
      { length: 99 },
      (_, i) => `(${i + 2}, 7, 404, 'x', ' curl="a${i}" mimetype="text/html"')`,
    );
    const password = home.addProvider(
      7,
      {},
      `INSERT INTO pierr(errseq, pid, code, text, attrs) VALUES (1, 7, 404, 'Not <Found>', ' curl="a" mimetype="text/html"'), ${more.join(', ')}, (101, 8, 500, 'x', ''), (102, 7, 601, 'gone', ' curl="b" mimetype="text/html"');
       UPDATE pidb SET nurlerrs = 101 WHERE pid = 7`,
    );
    const receiver = await newReceiver(home);
    const daemon = await home.start();
    const status = async (leave: 'end' | 'reset') => {
      const cp = new Cp(daemon.port).send(init(7, password));
      await cp.hears('</lococa:init_accepted>');
      if (leave === 'end') cp.socket.end();
      else cp.socket.resetAndDestroy();
      return cp.reply;
    };
    const first = await status('reset');
    assert.match(
      first,
      /errors="101"[^>]*>\n<errors>\n<url code="404" curl="a" mimetype="text\/html">Not &lt;Found&gt;<\/url>\n(?:<url code="404" .*\n){99}<\/errors>/,
    );
    assert.match(await status('end'), /code="404"/);
    await receiver.until(({ sessions }) => sessions.some(({ errseen }) => errseen === 100));
    const third = await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply;
    assert.doesNotMatch(third, /code="404"/);
    assert.match(third, /<url code="601"/);
    await receiver.until(
      ({ sets, sessions }) => sets.length === 1 && sessions.some(({ errseen }) => errseen === 102),
    );
    assert.equal(receiver.sets[0]?.head.errseen, 100, 'the set itself says what was certain when it came');
    assert.match(await status('end'), /<errors>\n<\/errors>/);
    await daemon.stop();
  });

  it('counts connections on across a restart', async () => {
    const home = newHome();
    const password = home.addProvider(7, {}, "UPDATE pidb SET lastconnseq = 17, lastconnip = '192.0.2.7'");
    const first = await home.start();
    assert.match(await hello(first.port), /seq="18" lastConnectIP="192.0.2.7"/);
    await first.stop();
    const second = await home.start();
    assert.match(await hello(second.port), /seq="19" lastConnectIP="127.0.0.1"/);
    await second.stop();

    async function hello(port: number): Promise<string> {
      const cp = new Cp(port);
      cp.socket.end(init(7, password));
      return cp.reply;
    }
  });

  it('answers and keeps a set it is making durable when it is told to stop', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const daemon = await home.start();
    const idle = new Cp(daemon.port).send(init(7, password));
    await idle.hears('</lococa:init_accepted>');
    const stopped = daemon.stop();
    assert.equal(codeOf(await idle.reply), 102);
    await stopped;
    assert.equal(await daemon.ended, 0);
  });
});
