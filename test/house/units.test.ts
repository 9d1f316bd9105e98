/** What systemd says of the examples of units: whether it understands them, how much they leave open, and to whom. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { rsOptions } from '../../src/rs/options.js';
import { projectFiles, readProjectFile, ROOT } from '../support/tree.js';

const isMissing = spawnSync('systemd-analyze', ['--version']).error !== undefined;
const skip = isMissing && process.env['CI'] !== 'true' && 'systemd-analyze is not installed';
const RS = 'examples/systemd/lcc-rs.service';
const LINKS = 'examples/systemd/lcc-links.service';
/** Of issue 18. */
const MAX_EXPOSURE = 1.5;

const services = projectFiles('examples/systemd').filter(path => path.endsWith('.service'));
/** Values of a setting in a unit. */
const valuesOf = (path: string, setting: string) =>
  [...readProjectFile(path).matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(m => m[1] ?? '');

function analyze(...words: string[]) {
  return spawnSync('systemd-analyze', words, { encoding: 'utf8' });
}

/** From 0 (nothing is open) to 10. */
function exposureOf(path: string): number {
  const { stdout, stderr } = analyze('security', '--offline=true', '--no-pager', path);
  const [, level] = /Overall exposure level for [\w.-]+: (\d+\.\d)/.exec(stdout) ?? [];
  assert.ok(level !== undefined, stderr);
  return Number(level);
}

describe('the examples of systemd units', { skip }, () => {
  it('are understood by systemd', () => {
    const units = projectFiles('examples/systemd').filter(path => /\.(service|target)$/.test(path));
    assert.ok(units.length > 0);
    const { stderr } = analyze('verify', '--man=no', ...units.map(path => join(ROOT, path)));
    // The commands of the units are installed elsewhere than where a test runs.
    const complaints = stderr.split('\n').filter(line => line !== '' && !line.includes('is not executable'));
    assert.deepEqual(complaints, []);
  });

  it('leave no core of any service, whose memory may have passwords', () => {
    assert.ok(services.length > 0);
    for (const path of services) assert.deepEqual(valuesOf(path, 'LimitCORE'), ['0'], path);
  });

  it('leave lccd-rs an exposure of 1.5 at most, as systemd counts it', t => {
    const exposure = exposureOf(join(ROOT, RS));
    t.diagnostic(`exposure of lcc-rs.service: ${exposure}`);
    assert.ok(exposure <= MAX_EXPOSURE, String(exposure));
    const dir = mkdtempSync(join(tmpdir(), 'lcc-unit-'));
    try {
      const open = join(dir, 'lcc-rs.service');
      writeFileSync(open, readProjectFile(RS).replace('CapabilityBoundingSet=\n', ''));
      assert.ok(exposureOf(open) > MAX_EXPOSURE, 'with all capabilities it is more');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('give each daemon a user of its own, who is made with it; lccd-rs writes rs/ alone, in a group of its own', () => {
    // What reads pages for links is no daemon, and delivers by a socket that is open to its user alone.
    const daemons = services.filter(path => path !== LINKS);
    assert.deepEqual(valuesOf(LINKS, 'User'), valuesOf('examples/systemd/lcc-uns.service', 'User'));
    const users = daemons.flatMap(path => valuesOf(path, 'User'));
    assert.equal(users.length, daemons.length);
    assert.equal(new Set(users).size, users.length);
    const made = usersMade();
    for (const user of users) assert.ok(made.includes(user), `sysusers.conf makes ${user}`);
    assert.deepEqual(valuesOf(RS, 'User'), ['lcc-rs']);
    assert.deepEqual(valuesOf(RS, 'Group'), ['lcc-door']);
    assert.deepEqual(valuesOf(RS, 'SupplementaryGroups'), []);
    assert.deepEqual(valuesOf(RS, 'ReadWritePaths'), ['/var/lib/lcc/rs']);
    assert.deepEqual(valuesOf(RS, 'ProtectSystem'), ['strict']);
    const hidden = valuesOf(RS, 'InaccessiblePaths').join(' ');
    for (const path of ['store', 'spool', 'lcc.db'])
      assert.match(hidden, new RegExp(`/var/lib/lcc/${path}\\b`));
  });

  it('have somebody listen at each socket that lccd-rs connects to', () => {
    const options = rsOptions(loadConfig({ env: { LCC_HOME: '/var/lib/lcc' } }));
    const listening = services
      .flatMap(path => valuesOf(path, 'ExecStart'))
      .join(' ')
      .split(' ');
    for (const path of [options.qmSocket, options.unsDoor.path]) {
      const isThere = listening.some(
        word => /^--listen-\w+=/.test(word) && word.endsWith(`=unix:${whereLinked(path)}`),
      );
      assert.ok(isThere, `${path}: nobody listens there`);
    }
  });
});

/** Where a path leads to, by the links that tmpfiles.conf makes. */
function whereLinked(path: string): string {
  for (const [, from, to = ''] of readProjectFile('examples/systemd/tmpfiles.conf').matchAll(
    /^L\+ (\S+) +- - - - (\S+)$/gm,
  ))
    if (from === path) return resolve(dirname(path), to);
  return path;
}

function usersMade(): string[] {
  return [...readProjectFile('examples/systemd/sysusers.conf').matchAll(/^u +(\S+)/gm)].map(m => m[1] ?? '');
}
