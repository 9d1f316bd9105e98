import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { runBin } from '../support/command.js';
import { arrives, DOUBTFUL, forget, home, lcccp, makeSite, receiver, url } from '../support/lcccp.js';
import { SITE } from '../support/uns.js';

test('a full set that is wanted is sent in the same run, from the pending state', async () => {
  const site = makeSite(url('a.html'), url('b.html'), url('c.html'));
  const committed = site.told([url('a.html'), url('b.html'), url('c.html')], ['--commit-now']);
  assert.ok(committed.includes('a.html'));
  const delta = site.told([url('a.html'), url('b.html', 6), url('d.html')]);
  const done = await lcccp(3, delta);
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stderr, /full set of 3 urls sent, 3 accepted\n$/);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html', 'd.html'] });
  assert.match(readFileSync(site.state, 'utf8'), /d\.html/);
  assert.deepEqual(site.files(), ['state.txt']);
});

test('a full set that is wanted is sent although nothing changed, but never on the strength of a cut input', async () => {
  const site = makeSite(url('a.html'));
  site.told([url('a.html')], ['--commit-now']);
  const same = site.told([url('a.html')]);
  const cut = await lcccp(3, same.replace('<?lcc end?>\n', ''));
  assert.equal(cut.status, 65);
  assert.match(cut.stderr, /the stream was cut/);
  const done = await lcccp(3, same);
  assert.match(done.stderr, /full set of 1 url sent, 1 accepted\n$/);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html'] });
});

test('a provider that was added again ends up whole, though its state says that all is delivered', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  site.told([url('a.html'), url('b.html')], ['--commit-now']);
  assert.equal((await lcccp(7, '', ['--status'])).status, 0);
  const cut = await lcccp(7, site.told([url('b.html'), url('c.html')]).replace('<?lcc end?>\n', ''));
  assert.equal(cut.status, 65);
  const done = await lcccp(7, site.told([url('b.html'), url('c.html')]));
  assert.equal(done.status, 0, done.stderr);
  assert.match(
    done.stderr,
    /never had a set of this provider.*\n.*partial set of 2 urls sent, 2 accepted\n$/,
  );
  assert.deepEqual(await arrives(7), { set: 'partial', urlprefix: SITE, curls: ['b.html', 'c.html'] });
  assert.deepEqual(site.files(), ['state.txt']);
  await forget();

  home.sql('UPDATE pidb SET lastset = 1 WHERE pid = 7');
  const same = await lcccp(7, site.told([url('b.html'), url('c.html')]), ['-q']);
  assert.deepEqual(same, { status: 0, stdout: '', stderr: '' });
  assert.equal(receiver.sets.length, 0);
});

test('without a state in the pipe a wanted full set is asked for', async () => {
  const done = await lcccp(3, url('x.html'), ['-q']);
  assert.equal(done.status, 0);
  assert.match(done.stderr, /^lcccp: the UNS wants a full set; send one with/);
  assert.equal((await arrives()).set, 'partial');
});

test('a full set without ration is refused before it is sent', async () => {
  const done = await lcccp(4, url('a.html'), ['--set=full']);
  assert.equal(done.status, 69);
  assert.match(done.stderr, /no full sets are left for now \(code 201\)/);
  const site = makeSite(url('a.html'));
  const stated = await lcccp(4, site.told([url('a.html')], ['--full']));
  assert.equal(stated.status, 69);
  assert.match(stated.stderr, /or remove \S+state\.txt: all of it is sent as a partial set then/);
});

test('--set=full with changes on the input sends the whole pending state, or nothing', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  site.told([url('a.html'), url('b.html')], ['--commit-now']);
  const done = await lcccp(1, site.told([url('a.html'), url('b.html'), url('c.html')]), ['--set=full']);
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html', 'c.html'] });
  const lone = site.told([url('a.html')], ['--commit-now', '--max-delete=100%']);
  assert.equal((await lcccp(1, lone, ['--set=full'])).status, 64);
  assert.equal((await lcccp(1, site.told([url('a.html')], ['--full']), ['--set=partial'])).status, 64);
});

/** What `lccq --cursor` writes: `since` is where the cursor stood. */
const ofLccq = (since: number, ...lines: string[]) =>
  `<?lcc store="0b7c" since="${since}"?>\n<urls>\n${lines.map(u => `${u}\n`).join('')}</urls>\n<?lcc end?>\n`;

test('changes since a cursor are never sent as a full set, however it is asked for', async () => {
  const changes = ofLccq(7, url('a.html'));
  for (const args of [['--set=full'], ['--set=full', '--allow-empty'], ['--set=full', '--dry-run']]) {
    const done = await lcccp(1, changes, args);
    assert.equal(done.status, 64, done.stderr);
    assert.match(
      done.stderr,
      /^lcccp: --set=full: standard input is only a part of what is held \(since="7"\), .*: lccq -- lcccp --set=full …\n$/,
    );
    assert.equal(done.stdout, '');
  }
  const oneShot = `<lococa:notify xmlns:lococa="x"><lococa:set set="full">${url('a.html')}</lococa:set></lococa:notify>`;
  for (const said of [`<?lcc since="7"?>${oneShot}<?lcc end?>`, changes.replace('?>', ' set="full"?>')]) {
    const done = await lcccp(1, said);
    assert.equal(done.status, 65, done.stderr);
    assert.match(done.stderr, /^lcccp: set="full": standard input is only a part of what is held/);
  }
  assert.equal((await lcccp(1, ofLccq(7), ['--set=full', '--allow-empty'])).status, 64);
  assert.equal(receiver.sets.length, 0);

  assert.equal((await lcccp(1, changes)).status, 0);
  assert.equal((await arrives()).set, 'partial');
});

test('what lccq calls a part is never sent as a full set', async () => {
  const part = ofLccq(0, url('a.html')).replace('?>', ' set="partial"?>');
  const done = await lcccp(1, part, ['--set=full']);
  assert.equal(done.status, 64);
  assert.match(
    done.stderr,
    /^lcccp: --set=full: standard input is only a part of what is held \(set="partial"\), /,
  );
  assert.equal(receiver.sets.length, 0);
});

test('all that lccq holds is sent as a full set when that is asked for', async () => {
  const done = await lcccp(1, ofLccq(0, url('a.html'), url('b.html')), ['--set=full']);
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: ['a.html', 'b.html'] });
});

test('with the output of lccq a wanted full set is asked for by the command that sends one', async () => {
  const done = await lcccp(3, ofLccq(7, url('x.html')), ['-q']);
  assert.equal(done.status, 0);
  assert.match(
    done.stderr,
    /^lcccp: the UNS wants a full set; send it once, .*: lccq -- lcccp --set=full …\n$/,
  );
  assert.equal((await arrives()).set, 'partial');
});

test('a full set without a url is refused unless told: a failure upstream must not empty the LCC', async () => {
  for (const nothing of ['', '<urls/>']) {
    const done = await lcccp(1, nothing, ['--set=full']);
    assert.equal(done.status, 65);
    assert.match(done.stderr, /a full set without a url would remove everything that is held; --allow-empty/);
  }
  assert.equal(receiver.sets.length, 0);
  assert.equal((await lcccp(1, '', ['--set=full', '--allow-empty'])).status, 0);
  assert.deepEqual(await arrives(), { set: 'full', urlprefix: SITE, curls: [] });
});

test('connections whose numbers go back tell of an LCC that was put back to an earlier time: all is sent, and it is said', async () => {
  const pid = DOUBTFUL[39] ?? NaN;
  const site = makeSite(url('a.html'));
  assert.equal((await lcccp(pid, site.told([url('a.html')]))).status, 0);
  const note = `${site.state}.uns`;
  const noted = readFileSync(note, 'utf8');
  const [numbering = '', , seq] = noted.trim().split(' ');
  assert.match(noted, /^\w+ \d+ \d+ \d+-\d+-\d+ 0\n$/);
  await forget();

  // What was noted of another numbering, or another provider, says nothing.
  for (const other of [noted.replace(numbering, 'ffff'), noted.replace(` ${pid} `, ' 77 '), 'no note\n']) {
    writeFileSync(note, other.replace(/\d+ \d+-\d+-\d+ 0\n$/, '999\n'));
    const same = await lcccp(pid, site.told([url('a.html')]), ['-q']);
    assert.deepEqual(same, { status: 0, stdout: '', stderr: '' });
  }
  assert.equal(receiver.sets.length, 0);
  assert.ok(Number(readFileSync(note, 'utf8').split(' ')[2]) > Number(seq));

  // Its ration is used up: the next run is to notice it, too.
  const back = `${numbering} ${pid} 999\n`;
  writeFileSync(note, back);
  home.sql(`UPDATE pidb SET fullsetsallowed = 0 WHERE pid = ${pid}`);
  const refused = await lcccp(pid, site.told([url('a.html')]), ['-q']);
  assert.match(
    refused.stderr,
    /^lcccp: this is connection \d+, after connection 999: .*send all with lcccpstate --full/,
  );
  assert.equal(readFileSync(note, 'utf8'), back);

  home.sql(`UPDATE pidb SET fullsetsallowed = 5 WHERE pid = ${pid}`);
  const healed = await lcccp(pid, site.told([url('a.html')]), ['-q']);
  assert.equal(healed.status, 0);
  assert.match(
    healed.stderr,
    /^lcccp: this is connection \d+, after connection 999: the LCC was put back to an earlier time; a full set was sent; its operator is to run lccfsck --repair --restored\n$/,
  );
  assert.deepEqual(await arrives(pid), { set: 'full', urlprefix: SITE, curls: ['a.html'] });
  assert.deepEqual(await lcccp(pid, site.told([url('a.html')]), ['-q']), {
    status: 0,
    stdout: '',
    stderr: '',
  });
});

test('a list of a part of the site answers no full set that is wanted, and is refused as one', async () => {
  const site = makeSite(url('a.html'), url('b.html'));
  site.told([url('a.html'), url('b.html')], ['--commit-now']);
  const partial = (...urls: string[]) => {
    const input = `<?lcc from="test"?>\n${urls.map(u => `${u}\n`).join('')}<?lcc end set="partial"?>\n`;
    return runBin('lcccpstate', ['-q', `--statefile=${site.state}`], { input }).stdout.toString();
  };
  const refused = await lcccp(3, partial(url('c.html')), ['--set=full']);
  assert.equal(refused.status, 64, refused.stderr);
  assert.match(refused.stderr, /--set=full: the list that lcccpstate read names a part of the site only/);
  const done = await lcccp(3, partial(url('c.html')), ['-q']);
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stderr, /the UNS wants a full set; this list names a part of the site only/);
  assert.deepEqual(await arrives(3), { set: 'partial', urlprefix: SITE, curls: ['c.html'] });
  assert.deepEqual(site.files(), ['state.txt']);
  await forget();
  const same = await lcccp(3, partial(url('c.html')), ['-q']);
  assert.match(same.stderr, /the UNS wants a full set/);
  assert.equal(receiver.sets.length, 0);
  // The next whole one answers it.
  const whole = await lcccp(3, site.told([url('a.html'), url('b.html'), url('c.html')]));
  assert.match(whole.stderr, /full set of 3 urls sent/);
});

test('without a state, the end that says so keeps a full set from being sent', async () => {
  const part = `<?lcc from="test"?>\n${url('a.html')}\n<?lcc end set="partial"?>\n`;
  for (const args of [['--set=full'], ['--set=full', '--dry-run']]) {
    const done = await lcccp(1, part, args);
    assert.equal(done.status, 65, done.stderr);
    assert.match(done.stderr, /only a part of the site \(its end says set="partial"\)/);
  }
  assert.equal(receiver.sets.length, 0);
  assert.equal((await lcccp(1, part)).status, 0);
  assert.equal((await arrives()).set, 'partial');
});
