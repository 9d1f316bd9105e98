import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { dial, request, socketIn, spawnBot, talk } from '../bot/lccbot.js';
import { answer, filesBelow, newFolder, rawServer } from '../fetch/support.js';
import { longIt } from '../support/long.js';
import { until } from '../support/until.js';

const PAGE = 'a page';
const MD5 = createHash('md5').update(PAGE).digest('hex');
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

const site = () => rawServer(socket => void socket.write(answer(PAGE, 'Content-Type: text/html\r\n')));
/** A site that never answers. */
const silent = () => rawServer(() => undefined);
const results = (out: string) => out.split('\n').filter(line => line.startsWith('<fetched'));

/** A conversation with somebody: all that was received, and a way to wait for more. */
function listenTo(socket: Socket): { seen: () => string; saw: (text: string | RegExp) => Promise<unknown> } {
  let seen = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (seen += chunk));
  socket.on('error', () => undefined);
  return { seen: () => seen, saw: text => until(`it says ${String(text)}`, () => seen.search(text) >= 0) };
}

describe('lccbot --stdio', () => {
  it('answers what is typed by hand', async () => {
    const { url } = await site();
    const folder = newFolder();
    const file = join(folder, 'deep/x');
    const { out, status } = await talk(
      `\r\n<!-- hello -->\r\n<fetch id='1'\r\n url='${url}' file='${file}' />\r\n`,
    );
    const [greeting, result] = out.split('\n');
    assert.equal(greeting, '<lococa:bot slots="64" unasked="yes"/>');
    assert.match(
      result ?? '',
      new RegExp(
        `^<fetched id="1" status="ok" http="200" md5="${MD5}" len="6" mimetype="text/html" wirebytes="\\d+" time="[\\d.]+"/>$`,
      ),
    );
    assert.equal(readFileSync(file, 'utf8'), PAGE);
    assert.deepEqual(filesBelow(folder), ['x']);
    assert.equal(status, 0);
  });

  it('takes any form of time for mtime', async () => {
    const server = await rawServer(socket => void socket.write('HTTP/1.1 304 Not Modified\r\n\r\n'));
    for (const mtime of [
      '1994-11-06T08:49:37Z',
      '784111777',
      '19941106084937',
      'Sun, 06 Nov 1994 08:49:37 GMT',
    ]) {
      const { out } = await talk(request(1, server.url, '/nowhere/x', `mtime="${mtime}"`));
      assert.match(out, /status="unchanged" http="304"/);
      assert.match(server.requests.at(-1) ?? '', /if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT/);
    }
  });

  it('answers every request once, also beyond its slots, and never fetches more at a time', async () => {
    let open = 0;
    let most = 0;
    const server = await rawServer(socket => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        socket.write(answer(PAGE));
      }, 2);
    });
    const folder = newFolder();
    const input = Array.from({ length: 300 }, (_, i) => request(i, server.url, join(folder, `${i}`))).join(
      '',
    );
    writeFileSync(join(folder, 'lcc.toml'), '[bot]\nmax_waiting = 8\n');
    const { out, status } = await talk(input, ['--slots=4', `--config=${join(folder, 'lcc.toml')}`]);
    const ids = results(out).map(line => Number(/id="(\d+)" status="ok"/.exec(line)?.[1]));
    assert.deepEqual(
      ids.sort((a, b) => a - b),
      Array.from({ length: 300 }, (_, i) => i),
    );
    assert.equal(most, 4);
    assert.equal(status, 0);
  });

  it('fetches one of a lane at a time, in order, and other lanes and lone requests beside it', async () => {
    const open = new Map<string, number>();
    const seen = new Map<string, number[]>();
    let most = 0;
    const server = await rawServer((socket, head) => {
      const [lane = '', number] = /\/(\w+)-(\d+) /.exec(head)?.slice(1) ?? [];
      open.set(lane, (open.get(lane) ?? 0) + 1);
      if (lane !== 'none') assert.equal(open.get(lane), 1, 'two of one lane at once');
      seen.set(lane, [...(seen.get(lane) ?? []), Number(number)]);
      most = Math.max(
        most,
        [...open.values()].reduce((sum, count) => sum + count, 0),
      );
      setTimeout(() => {
        open.set(lane, (open.get(lane) ?? 0) - 1);
        socket.write(answer(PAGE));
      }, 1);
    });
    const folder = newFolder();
    const lanes = ['a', 'b', 'c', 'd', 'e', 'none'];
    const input = Array.from({ length: 240 }, (_, i) => {
      const lane = lanes[i % 6] ?? '';
      const attribute = lane === 'none' ? '' : `lane="${lane}"`;
      return request(i, `${server.url}${lane}-${i}`, join(folder, `${i}`), attribute);
    }).join('');
    const { out } = await talk(input, ['--slots=3']);
    assert.equal(results(out).filter(line => line.includes('status="ok"')).length, 240);
    assert.equal(most, 3);
    for (const lane of lanes) {
      const expected = Array.from({ length: 40 }, (_, i) => i * 6 + lanes.indexOf(lane));
      // Lone requests are on their way side by side: the server may see a later one first.
      const order = lane === 'none' ? seen.get(lane)?.toSorted((a, b) => a - b) : seen.get(lane);
      assert.deepEqual(order, expected, `order in lane ${lane}`);
    }
  });

  it('goes on with a lane after an error, and answers each request of it', async () => {
    const { url } = await site();
    const folder = newFolder();
    const input = ['https://[', url, 'gopher://x/', url]
      .map((to, i) => request(i, to, join(folder, `${i}`), 'lane="x"'))
      .join('');
    const { out, status } = await talk(input);
    assert.deepEqual(
      results(out)
        .map(line => /id="(\d" status="\w+)"/.exec(line)?.[1])
        .sort((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1)),
      ['0" status="error', '1" status="ok', '2" status="error', '3" status="ok'],
    );
    assert.equal(status, 0);
  });

  it('refuses loopback unless it is allowed', async () => {
    const server = await site();
    const bot = spawnBot(['--stdio']);
    bot.child.stdin?.end(request(1, server.url, '/nowhere/x'));
    assert.match(await bot.stdout, /code="610" reach="real".*--allow-address/);
    assert.equal(server.connections, 0);
  });

  it('allows what the configuration allows, and gives the limits it sets', async () => {
    const server = await rawServer(socket => void socket.write(answer('x'.repeat(2000))));
    const folder = newFolder();
    const config = join(folder, 'lcc.toml');
    writeFileSync(config, '[bot]\nallow_addresses = ["127.0.0.1"]\nmax_content_bytes = 1000\n');
    const bot = spawnBot(['--stdio', `--config=${config}`]);
    bot.child.stdin?.end(request(1, server.url, join(folder, 'x')));
    assert.match(await bot.stdout, /code="606".*bot\.max_content_bytes/);
  });

  it('says where the input is malformed and exits 65', async () => {
    const { out, err, status } = await talk('<fetch id="1"\n url=oops');
    assert.match(out, /<lococa:error code="103">stdin:2:\d+: /);
    assert.match(err, /stdin:2:/);
    assert.equal(status, 65);
  });

  it('says what it does not do and exits 76', async () => {
    const { out, status } = await talk('<destroy id="1"/>');
    assert.match(out, /<lococa:error code="104">.*destroy/);
    assert.equal(status, 76);
  });

  it('exits 64 unless told one way to talk', async () => {
    for (const args of [[], ['--stdio', '--listen=9100'], ['--bm=x:1', '--stdio']]) {
      const bot = spawnBot(args);
      assert.equal(await bot.exited, 64);
      assert.match(await bot.stderr, /one of --bm=ENDPOINT, --listen=ENDPOINT, --stdio/);
    }
    const bot = spawnBot(['--stdio', '--allow-address=10.0.0.0/99']);
    assert.equal(await bot.exited, 64);
  });

  it('ends when its reader does', async () => {
    const server = await silent();
    const bot = spawnBot(['--stdio', '--allow-address=127.0.0.1']);
    bot.child.stdin?.write(request(1, server.url, '/nowhere/x'));
    await until('it is asked', () => server.requests.length === 1);
    bot.child.kill('SIGTERM');
    assert.equal(await bot.exited, 0);
    assert.match(await bot.stdout, /id="1" status="error" code="605"/);
  });
});

describe('lccbot --listen', () => {
  it('shares its slots among connections, finishes what it began on SIGTERM, takes nothing new', async () => {
    let waiting: Socket | undefined;
    const server = await rawServer(socket => (waiting = socket));
    const folder = newFolder();
    const path = socketIn(folder);
    const bot = spawnBot([
      `--listen=unix:${path}`,
      `--dir=${folder}`,
      '--slots=1',
      '--allow-address=127.0.0.1',
    ]);
    const [one, two] = [await dial(path), await dial(path)];
    const [first, second] = [listenTo(one), listenTo(two)];
    await Promise.all([first.saw('slots="1"'), second.saw('slots="1"')]);
    one.write(request(1, server.url, join(folder, 'one')));
    await until('it is asked', () => waiting !== undefined);
    two.write(request(2, server.url, join(folder, 'two')));
    bot.child.kill('SIGTERM');
    await Promise.all([first.saw('slots="0"'), second.saw('slots="0"')]);
    waiting?.write(answer(PAGE));
    await first.saw(/id="1" status="ok"/);
    assert.equal(await bot.exited, 0);
    assert.equal(server.requests.length, 1);
    assert.deepEqual(results(second.seen()), []);
    assert.equal(readFileSync(join(folder, 'one'), 'utf8'), PAGE);
  });

  it('has files written below the folder it was given only, and without one gives content with the result', async () => {
    const { url } = await site();
    const folder = newFolder();
    const outside = join(newFolder(), 'authorized_keys');
    for (const dir of [[], [`--dir=${folder}`]]) {
      const path = socketIn(newFolder());
      spawnBot([`--listen=unix:${path}`, ...dir, '--allow-address=127.0.0.1', `--name=n${dir.length}`]);
      const refused = [
        outside,
        folder,
        `${folder}-not/x`,
        join(folder, '../x'),
        ...(dir.length === 0 ? [join(folder, 'x')] : []),
      ];
      for (const file of refused) {
        const socket = await dial(path);
        const { seen } = listenTo(socket);
        socket.write(`<fetch id="1" url="${url}" file="${file}"/>`);
        await once(socket, 'close');
        assert.match(
          seen(),
          /<lococa:error code="104">.*is below no folder that this robot writes to \(--dir\)/,
          file,
        );
      }
      const socket = await dial(path);
      const { saw } = listenTo(socket);
      socket.write(`<fetch id="1" url="${url}" inline="1000"/>`);
      await saw(/id="1" status="inline"/);
      if (dir.length > 0) {
        socket.write(request(2, url, join(folder, 'sub/x')));
        await saw(/id="2" status="ok"/);
      }
      socket.destroy();
    }
    assert.equal(existsSync(outside), false);
    assert.equal(readFileSync(join(folder, 'sub/x'), 'utf8'), PAGE);
  });

  it('outlives what breaks its conversation', async () => {
    const path = socketIn(newFolder());
    spawnBot([`--listen=unix:${path}`]);
    for (const bytes of [
      '<oops',
      '<fetch/>',
      '\0\0\0',
      'GET / HTTP/1.1\r\n\r\n',
      `<${'x'.repeat(100_000)}`,
    ]) {
      const socket = await dial(path);
      const { seen } = listenTo(socket);
      socket.end(bytes);
      await once(socket, 'close');
      assert.match(seen(), /<lococa:error code="10[346]">/, JSON.stringify(bytes.slice(0, 20)));
    }
  });
});

describe('lccbot --bm', () => {
  it('comes back to a Bot Manager that was away, and says its slots again', async () => {
    const { url } = await site();
    const folder = newFolder();
    const path = socketIn(folder);
    const bot = spawnBot([`--bm=unix:${path}`, '--slots=3', '--allow-address=127.0.0.1']);
    for (let round = 1; round <= 2; round++) {
      const manager = createServer().listen(path);
      servers.push(manager);
      const [socket] = (await once(manager, 'connection')) as [Socket];
      const { saw } = listenTo(socket);
      await saw('<lococa:bot slots="3" pings="yes" unasked="yes"/>');
      socket.write(request(round, url, join(folder, `${round}`)));
      await saw(new RegExp(`id="${round}" status="ok"`));
      assert.ok(existsSync(join(folder, `${round}`)));
      manager.close();
      socket.destroy();
      await once(manager, 'close');
    }
    bot.child.kill('SIGTERM');
    assert.equal(await bot.exited, 0);
  });
});

describe('lccbot whose Bot Manager is lost', () => {
  it('drops its requests and leaves nothing of them', async () => {
    const server = await rawServer(
      socket => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n${'x'.repeat(400_000)}`),
    );
    const folder = newFolder();
    const path = socketIn(newFolder());
    const manager = createServer().listen(path);
    servers.push(manager);
    spawnBot([`--bm=unix:${path}`, '--slots=1', '--allow-address=127.0.0.1']);
    const [one] = (await once(manager, 'connection')) as [Socket];
    one.write(request(1, server.url, join(folder, 'one')) + request(2, server.url, join(folder, 'two')));
    await until('a file is written', () => filesBelow(folder).length === 1);
    // It may be back before its file is looked for.
    const again = once(manager, 'connection') as Promise<[Socket]>;
    one.destroy();
    await until('the file is removed', () => filesBelow(folder).length === 0);
    const [two] = await again;
    const { saw } = listenTo(two);
    const fine = await site();
    two.write(request(3, fine.url, join(folder, 'three')));
    await saw(/id="3" status="ok"/);
    assert.deepEqual(filesBelow(folder), ['three']);
    assert.equal(server.requests.length, 1);
  });
});

describe('lccbot and a power cut', () => {
  const synced = (folder: string) => {
    const config = join(folder, 'lcc.toml');
    writeFileSync(config, '[bot]\nsync_content = true\n');
    return `--config=${config}`;
  };

  for (const size of [6, 900_000]) {
    const content = 'x'.repeat(size);

    longIt(
      `syncs ${size} bytes before their name counts, and the name before the result`,
      async () => {
        const server = await rawServer(socket => void socket.write(answer(content)));
        const folder = newFolder();
        const log = join(folder, 'steps');
        const input = request(1, server.url, join(folder, 'file'));
        const { out } = await talk(input, [synced(folder)], { LCC_STEP_LOG: log });
        assert.match(out, /status="ok"/);
        assert.deepEqual(
          readFileSync(log, 'utf8')
            .trim()
            .split('\n')
            .map(line => line.split(' ')[1]),
          ['fetch.file.synced', 'fetch.file.placed', 'fetch.file.directory-synced'],
        );
      },
      size === 6,
    );

    for (const step of ['fetch.file.synced', 'fetch.file.placed', 'fetch.file.directory-synced']) {
      it(`leaves ${size} bytes whole or not there when killed at ${step}`, async () => {
        const server = await rawServer(socket => void socket.write(answer(content)));
        const folder = newFolder();
        const file = join(folder, 'store/file');
        const input = request(1, server.url, file);
        const killed = await talk(input, [synced(folder)], { LCC_CRASH_AT: step });
        assert.equal(killed.status, 'SIGKILL');
        assert.deepEqual(results(killed.out), []);
        assert.equal(existsSync(file), size < 256 * 1024 || step !== 'fetch.file.synced');
        if (existsSync(file)) assert.equal(readFileSync(file, 'utf8'), content);
        const again = await talk(input, [synced(folder)]);
        assert.match(again.out, /status="ok"/);
        assert.equal(readFileSync(file, 'utf8'), content);
      });
    }
  }
});
