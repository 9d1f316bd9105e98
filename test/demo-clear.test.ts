import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish, untilPrinted } from './support/demo.js';
import { noNginx } from './support/nginx.js';
import { readProjectFile } from './support/tree.js';

let home: DemoHome;
let dir: string;
let temporary: string;

beforeEach(() => {
  home = new DemoHome();
  ({ dir, temporary } = home);
});
afterEach(() => home.remove());

describe('the demo of cache clearing', { skip: noNginx }, () => {
  /** Of the servers: those of the rails, and that of the load balancer. */
  const portsIn = (output: string) => [
    ...new Set(
      [...output.matchAll(/(?:--url=|load balancer, )http:\/\/127\.0\.0\.1:(\d+)/g)].map(m => Number(m[1])),
    ),
  ];
  const isOpen = (port: number) =>
    new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
    });

  it('clears three rails, one after it was away, and what a feed says; and ends its servers', async () => {
    const { status, output, complaints } = await finish(home.start('clear'));
    assert.equal(status, 0, output + complaints);
    const part = (title: string) => output.split('\n\n\n').find(text => text.startsWith(`== ${title}`)) ?? '';
    const shown = (title: string) => part(title).match(/^(www\d|balancer) +\/\w+\.html: .*$/gm) ?? [];
    const everywhere = (page: string, text: string) =>
      ['www1    ', 'www2    ', 'www3    ', 'balancer'].map(name => `${name} /${page}.html: <p>${text}</p>`);

    const changed = shown('One page changes');
    assert.deepEqual(changed.slice(0, 3), everywhere('weather', 'rain').slice(0, 3), 'not cleared yet');
    assert.deepEqual(changed.slice(3), everywhere('weather', 'sunshine'));
    assert.match(part('A rail goes down'), /^www3\t\/weather\.html\tclear\t.*refused/m);
    assert.match(part('A rail goes down'), /^www3 +www +DOWN .* 1 page for /m);
    const [stale, ...fresh] = shown('It comes back');
    assert.equal(stale, 'www3     /weather.html: <p>sunshine</p>');
    assert.deepEqual(fresh, everywhere('weather', 'snow and ice'));
    assert.match(
      part('The feed'),
      /^\$ lccq --cursor=\S+ --format=jsonl -- lccclear --stdin=jsonl --rules=\S+/m,
    );
    assert.deepEqual(shown('The feed').slice(3), everywhere('weather', 'fog in the morning'));
    const soft = part('A page that readers never miss');
    assert.deepEqual(shown('A page that readers never miss'), everywhere('about', 'rain, or no rain'));
    assert.match(
      soft,
      /^[1-9]\d* times it was the old page, [1-9]\d* times the new one, 0 times anything else\.$/m,
    );
    assert.deepEqual(soft.match(/^www\d\/pages\/.*$/gm), [
      'www1/pages/about.html',
      'www1/pages/weather.html',
      'www2/pages/about.html',
      'www2/pages/weather.html',
      'www3/pages/about.html',
      'www3/pages/weather.html',
    ]);
    assert.match(part('Done'), /Every rail is fresh/);
    assert.match(output, /^All of it took \d+ seconds/m);

    /** Without what differs from run to run. */
    const alike = (text: string) =>
      text
        .replace(/127\.0\.0\.1:\d+|:\d{4}(?=[;/ ])/g, 'PORT')
        .replace(/\b\d{13}\b/g, 'TIME')
        .replace(/ for \d+ s\b/g, ' for N s')
        .replace(/^\d+ times it was the old page, \d+ times/gm, 'N times it was the old page, N times');
    const recorded = readProjectFile('docs/guide/clearing.md').match(
      /(?<=^```text\n)== A rail goes down[^]*?(?=^```$)/m,
    );
    for (const scene of (recorded?.[0] ?? '').split('\n\n\n'))
      assert.ok(
        alike(output).includes(alike(scene.trimEnd())),
        `docs/guide/clearing.md: the demo does not print:\n${scene}`,
      );
    assert.match(recorded?.[0] ?? '', /^== A page that readers never miss$/m);

    const ports = portsIn(output);
    assert.equal(ports.length, 4);
    for (const port of ports) assert.equal(await isOpen(port), false, `${port}`);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('says what nginx said when that does not start', async () => {
    writeFileSync(join(dir, 'bin/nginx'), '#!/bin/sh\necho no such luck >&2\nexit 1\n', { mode: 0o755 });
    const { status, complaints } = await finish(home.start('clear'));
    assert.equal(status, 1);
    assert.equal(complaints, 'demo: www1: nginx has ended:\nno such luck\n');
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('ends its servers on SIGINT', async () => {
    const child = home.start('clear');
    child.stderr.resume();
    const output = await untilPrinted(child, '$ lccrail check');
    const ports = portsIn(output);
    assert.equal(ports.length, 4);
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    assert.deepEqual(await exited, [128 + constants.signals.SIGINT, null]);
    for (const port of ports) assert.equal(await isOpen(port), false, `${port}`);
    assert.deepEqual(readdirSync(temporary), []);
  });
});
