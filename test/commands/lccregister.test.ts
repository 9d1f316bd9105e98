/** A site registers in a shell: nginx, lccd with a Registration Server, the crontab line as printed. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { readProjectFile } from '../support/tree.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';
import { longIt } from '../support/long.js';

const scenes: RegistrationScene[] = [];
after(() => Promise.all(scenes.map(scene => scene.end())));

async function scene(...args: Parameters<typeof startRegistration>): Promise<RegistrationScene> {
  const one = await startRegistration(...args);
  scenes.push(one);
  return one;
}

/** Runs a line of crontab(5) as cron does. */
function asCron({ lcc }: RegistrationScene, crontab: string) {
  const [, command = ''] = /^\*\/15 \* \* \* \* (.+)\n$/.exec(crontab) ?? [];
  assert.notEqual(command, '', crontab);
  const env = { PATH: '/usr/bin:/bin', HOME: lcc.dir, SHELL: '/bin/sh' };
  return lcc.sh(
    `env -i PATH=/usr/bin:/bin HOME=${lcc.dir} /bin/sh -c ${JSON.stringify(command.replaceAll('\\%', '%'))}`,
    env,
  );
}

describe('lccregister', { skip: noNginx }, () => {
  it('does all of it where sites are let in at once: the line that it prints delivers', async () => {
    const one = await scene('mode = "open"\n');
    const { lcc, site, pwdfile } = one;
    writeFileSync(join(site.docroot, 'index.html'), '<p>registered');
    const { status, stdout, stderr } = await one.register('--wait=60');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /is provider 100000; the password is in .*password; the line for crontab\(5\):\n$/);
    assert.deepEqual(readdirSync(site.docroot), ['index.html'], 'the file of the secret is gone');
    assert.equal(statSync(pwdfile).mode & 0o777, 0o600);
    assert.ok(!existsSync(`${pwdfile}.pair`));
    const password = readFileSync(pwdfile, 'utf8').trim();
    assert.doesNotMatch(lcc.log + stdout + stderr, new RegExp(password));

    const delivered = await asCron(one, stdout);
    assert.deepEqual(delivered, { status: 0, stdout: '', stderr: '' });
    await lcc.idle();
    const { rows } = await lcc.holdings();
    assert.match(rows.join(), /^index\.html [0-9a-f]{32}$/);
    const shown = await lcc.run('lccpidb show --pid=100000 --json');
    const { roots, filesmax } = JSON.parse(shown) as Record<string, unknown>;
    assert.deepEqual([roots, filesmax], [[site.url], 10_000]);

    const again = await one.register();
    assert.equal(again.status, 73);
    assert.match(
      again.stderr,
      /password: exists, and may hold a password that is in use; give another file\n$/,
    );
  });

  it('waits for the operator, who approves or refuses', async () => {
    const one = await scene();
    const { lcc, site, pwdfile } = one;
    const waiting = await one.register();
    assert.equal(waiting.status, 75, waiting.stderr);
    assert.match(waiting.stderr, /is proven, and waits for approval; run this again later\n$/);
    assert.deepEqual(readdirSync(site.docroot), []);
    assert.match(
      await lcc.run('lccrs list'),
      /^1 +waiting +100000 +http:\/\/127\.0\.0\.1:\d+\/ +for \d+ s\n$/,
    );
    assert.match((await lcc.sh('lccstat')).stdout, /1 site waits for approval; lccrs list/);
    const look = await lcc.sh(`lcccp --status --uns=${lcc.uns} --pid=100000 --pwdfile=${pwdfile} </dev/null`);
    assert.match(look.stderr, /\b101\b/);

    const shown = await lcc.run('lccrs show 1');
    assert.match(shown, /^registration +1, waiting$/m);
    assert.doesNotMatch(shown + (await lcc.run('lccrs show 1 --json')), /sha256|secret|"password"/);
    const tooMuch = await lcc.sh('lccrs approve 1 --filesmax=2000000');
    assert.equal(tooMuch.status, 64);
    await lcc.run('lccrs approve 1 --filesmax=50000 --priority=1');
    const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --wait=60`);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /^\*\/15 .*--pid=100000 /);
    await lcc.shows('lccpidb show --pid=100000 --json', /"filesmax":50000,.*"priority":1/);
    assert.match((await lcc.sh('lccrs approve 1')).stderr, /registration 1 is active, and does not wait/);

    const second = join(lcc.dir, 'second');
    const words = `--server=${one.server} --url=${site.url}`;
    const two = await lcc.sh(`lccregister new ${words} --docroot=${site.docroot} --pwdfile=${second}`);
    assert.equal(two.status, 75, two.stderr);
    await lcc.run(`lccrs refuse 2 --reason='it is registered already'`);
    const refused = await lcc.sh(`lccregister check --pwdfile=${second}`);
    assert.equal(refused.status, 77);
    assert.match(refused.stderr, /is refused: it is registered already; ask the operator of this LCC\n$/);
    assert.ok(!existsSync(second) && !existsSync(`${second}.pair`));
    assert.match(
      await lcc.run('lccrs audit'),
      /issued by applicant[^]*proven by rs[^]*approved by operator[^]*register done by qm[^]*terms done by qm[^]*refused by operator/,
    );

    await lcc.run('lccrs backup rs.copy');
    assert.equal(await lcc.run('lccrs list --differs'), '');
    assert.equal((await lcc.sh('lccrs backup rs.copy')).status, 73);
  });

  it('says what is wrong with the file, and goes on where it stopped, after the pause between two checks', async () => {
    const one = await scene('mode = "open"\ncheck_interval_ms = 1500\n');
    const { lcc, site, pwdfile, server } = one;
    const by = (verb: string) => lcc.sh(`lccregister ${verb} --pwdfile=${pwdfile}`);
    const begun = await by(`new --server=${server} --url=${site.url}`);
    assert.equal(begun.status, 66);
    assert.match(
      begun.stderr,
      /lcc-[0-9a-f]{20}\.txt: the file is not there \(404\); .*; then run this again\n/,
    );
    assert.match(begun.stdout, /^printf '%s\\n' [\w-]{27} > lcc-[0-9a-f]{20}\.txt\n$/);
    const [, name = ''] = /> (\S+)/.exec(begun.stdout) ?? [];
    writeFileSync(join(site.docroot, name), 'something else');
    assert.equal((await by('check')).status, 65);
    await lcc.sh(begun.stdout, {}, site.docroot);
    const done = await by('check --wait=60');
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /cd \/WHERE\/THE\/PAGES\/ARE && /);
    assert.equal((await by('check')).status, 66, 'nothing is under way any more');
  });

  longIt('puts the file where the last run says: that directory is in the line', async () => {
    const one = await scene('check_interval_ms = 0\nchecks_per_hour = 99\n');
    const { lcc, site, pwdfile, server } = one;
    const [wrong, also] = ['wrong', 'also-wrong'].map(name => join(lcc.dir, name)) as [string, string];
    for (const dir of [wrong, also]) mkdirSync(dir);
    const words = `--server=${server} --url=${site.url} --pwdfile=${pwdfile}`;
    const lost = await lcc.sh(`lccregister new ${words} --docroot=${wrong}`);
    assert.equal(lost.status, 66, lost.stderr);
    const [name = ''] = readdirSync(wrong);
    assert.ok(
      lost.stderr.endsWith(
        `/${name}: the file is not there (404); lccregister put it at ${wrong}/${name}; is ${wrong} the directory that ${site.url} shows? run this again, with another --docroot if it is not; the file stays there until then\n`,
      ),
      lost.stderr,
    );
    const again = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --docroot=${also}`);
    assert.deepEqual([again.status, readdirSync(wrong), readdirSync(also)], [66, [], [name]], again.stderr);

    const found = await lcc.sh(`lccregister new ${words} --docroot=${site.docroot}`);
    assert.equal(found.status, 75, found.stderr);
    assert.deepEqual([readdirSync(also), readdirSync(site.docroot)], [[], []]);
    assert.equal((await lcc.sh(`lccregister new ${words} --docroot=${wrong}`)).status, 75);
    await lcc.run('lccrs approve 1');
    const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --wait=60`);
    assert.equal(done.status, 0, done.stderr);
    assert.ok(done.stdout.includes(` cd ${site.docroot} && `), done.stdout);
  });

  longIt('writes the file of the secret anew where it holds another text', async () => {
    const one = await scene('mode = "open"\ncheck_interval_ms = 0\nchecks_per_hour = 99\n');
    const { lcc, site, pwdfile, server } = one;
    const begun = await lcc.sh(`lccregister new --server=${server} --url=${site.url} --pwdfile=${pwdfile}`);
    const [, secret = '', name = ''] = /'%s\\n' (\S+) > (\S+)\n/.exec(begun.stdout) ?? [];
    const path = join(site.docroot, name);
    writeFileSync(path, `${secret}\nand more\n`, { mode: 0o600 });
    const done = await one.register('--wait=60');
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(readdirSync(site.docroot), []);
  });

  it('refuses what cannot be, and changes nothing', async () => {
    const one = await scene('mode = "closed"\ncontact = "hostmaster@example.org"\n');
    const { lcc, site, server } = one;
    const run = (options: string) => lcc.sh(`lccregister ${options}`);
    const usual = `--server=${server} --url=${site.url} --pwdfile=p`;
    const cases: [number, RegExp, string][] = [
      [64, /nothing to do; give new, check, status/, ''],
      [64, /"drop" is no action/, 'drop'],
      [64, /--pwdfile is missing/, `new --server=${server} --url=${site.url}`],
      [64, /--url is missing: the address of the site/, `new --server=${server} --pwdfile=p`],
      [64, /--server=x: give an http or https url/, 'new --server=x --url=http://a/ --pwdfile=p'],
      [66, /--docroot=.*: there is no such directory/, `new ${usual} --docroot=${lcc.dir}/none`],
      [64, /lies below the pages, where everybody could read it/, `new ${usual} --docroot=${lcc.dir}`],
      [77, /this LCC takes no new sites; ask hostmaster@example\.org/, `new ${usual}`],
      [66, /p\.pair: no registration is under way/, 'check --pwdfile=p'],
      [75, /ECONNREFUSED.*; try again later/, `new --server=http://127.0.0.1:1/ --url=http://a/ --pwdfile=p`],
      [
        76,
        /is that the address of a Registration Server/,
        `new --server=${site.url} --url=http://a/ --pwdfile=p`,
      ],
    ];
    for (const [status, says, options] of cases) {
      const done = await run(options);
      assert.equal(done.status, status, `${options}: ${done.stderr}`);
      assert.match(done.stderr, says);
    }
    assert.ok(!existsSync(join(lcc.dir, 'p')) && !existsSync(join(lcc.dir, 'p.pair')));
  });
});

/** The site registers, and is approved. @returns its number and password */
function untimed(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\bin \d+ s$/, 'in N s') : value;
}

/** A site that has registered and was approved. @returns its number and password */
async function joined(one: RegistrationScene): Promise<string> {
  assert.equal((await one.register()).status, 75);
  const [, id = '', pid = ''] = /^(\d+) +waiting +(\d+)/m.exec(await one.lcc.run('lccrs list')) ?? [];
  await one.lcc.run(`lccrs approve ${id}`);
  assert.equal((await one.register('--wait=60')).status, 0);
  return `${pid}:${readFileSync(one.pwdfile, 'utf8').trim()}`;
}

describe('docs/frontdoor-api.md', { skip: noNginx }, () => {
  it('has examples that are answered as it says', async () => {
    const one = await scene();
    const { lcc, site, server } = one;
    const [applicants = ''] = readProjectFile('docs/frontdoor-api.md').split('\n## Operators\n');
    const blocks = applicants.match(/^ {4}(?:curl .*|\{[^]*?^ {4}\})$/gm) ?? [];
    let id = '';
    let login: string | undefined;
    let answer: Record<string, unknown> = {};
    let compared = 0;
    for (const block of blocks) {
      const text = block.replace(/^ {4}/gm, '');
      if (text.startsWith('curl')) {
        let line = text
          .replace('http://www.example.org/docs/', site.url)
          .replace('http://news.example.org/', site.url.replace('127.0.0.1', '127.0.0.2'));
        if (line.includes('$PASSWORD')) line = line.replace('$PID:$PASSWORD', (login ??= await joined(one)));
        if (line.includes('/forgot')) line = line.replace('100000', login?.split(':')[0] ?? '');
        const said = await lcc.run(line.replaceAll('$RS', server.slice(0, -1)).replaceAll('$ID', id));
        answer = said === '' ? {} : (JSON.parse(said) as Record<string, unknown>);
        id = typeof answer['id'] === 'string' ? answer['id'] : id;
      } else {
        const shown = JSON.parse(text) as Record<string, unknown>;
        assert.deepEqual(Object.keys(answer), Object.keys(shown));
        for (const key of ['state', 'tries_left', 'reason', 'code', 'what', 'where', 'do'])
          assert.deepEqual(untimed(answer[key]), untimed(shown[key]), key);
        compared++;
      }
    }
    assert.equal(compared, 14);
  });
});
