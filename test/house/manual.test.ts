import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { driverOf, DRIVER_NAMES } from '../../src/clear/drivers/index.js';
import { loadConfig } from '../../src/config/load.js';
import { formatAmount } from '../../src/config/amounts.js';
import { SETTINGS, type SettingRow } from '../../src/config/settings/index.js';
import { rejectionCode } from '../../src/cp/session.js';
import { exitStatusOf, LccError, messageOf } from '../../src/lib/errors.js';
import { CODES } from '../../src/wire/codes.js';
import { manPages, plain } from '../support/mdoc.js';
import { readProjectFile, ROOT } from '../support/tree.js';

/** How lcc.toml(5) prints a setting: default, then unit and bounds. */
function described(row: SettingRow): string {
  switch (row.type) {
    case 'number': {
      const amount = (value: number) => formatAmount(value, row.unit);
      const unit = row.unit === 'bytes_per_s' ? 'bytes per second' : row.unit;
      const bounds = row.oneOf?.join(' or ') ?? `${amount(row.min)} to ${amount(row.max)}`;
      return `${amount(row.default)} (${unit}, ${bounds})`;
    }
    case 'boolean':
      return `${row.default} (true or false)`;
    case 'string':
      return `${JSON.stringify(row.default)} (${row.oneOf === undefined ? 'string' : row.oneOf.join(', ')})`;
    case 'list':
      return `${JSON.stringify(row.default)} (list of strings)`;
  }
}

test('the example of lcc.toml(5) is a configuration', () => {
  const example = /^\.Sh EXAMPLES\n[^]*?^\.Bd -literal.*\n([^]*?)^\.Ed$/m.exec(
    readProjectFile('man/lcc.toml.5'),
  );
  const home = mkdtempSync(join(tmpdir(), 'lcc-example-'));
  try {
    const file = join(home, 'lcc.toml');
    writeFileSync(file, plain(example?.[1] ?? ''));
    const config = loadConfig({ env: { LCC_HOME: home } });
    assert.equal(config.originOf('bot.total_timeout_ms'), file);
  } finally {
    rmSync(home, { recursive: true });
  }
});

test('lcc.toml(5) has every setting with its default, unit and bounds, and no other', () => {
  const listed = [...readProjectFile('man/lcc.toml.5').matchAll(/^\.It Cm (\S+) No = (.*) Pq (.*)$/gm)].map(
    m => `${m[1]} = ${plain(m[2] ?? '')} (${plain(m[3] ?? '')})`,
  );
  const known = Object.entries(SETTINGS).map(([key, row]) => `${key} = ${described(row)}`);
  assert.deepEqual(
    {
      missing: known.filter(line => !listed.includes(line)),
      unknown: listed.filter(line => !known.includes(line)),
    },
    { missing: [], unknown: [] },
  );
  assert.equal(new Set(listed).size, listed.length, 'a setting stands there twice');
});

test('lcc-codes(7) has every code with its text, and no other', () => {
  const listed = [...readProjectFile('man/lcc-codes.7').matchAll(/^\.It Er (\d+) No (.*)$/gm)].map(
    m => `${m[1]} ${plain(m[2] ?? '')}`,
  );
  assert.deepEqual(
    listed,
    Object.entries(CODES).map(([code, text]) => `${code} ${text}`),
  );
});

test('lcc-codes(7) says the exit status that lcccp ends with, for every code that ends it', () => {
  const page = readProjectFile('man/lcc-codes.7');
  const said = [...page.matchAll(/^\.It Er (\d+) No [^]*?(?=^\.(?:It|El))/gm)].flatMap(([item, code]) => {
    const status = /^Exit status (\d+)\.$/m.exec(item)?.[1];
    return status === undefined ? [] : [{ code: Number(code), status: Number(status) }];
  });
  assert.deepEqual(
    said,
    said.map(({ code }) => ({ code, status: exitStatusOf(new LccError(rejectionCode(code), '')) })),
  );
  const codes = said.map(({ code }) => code);
  assert.deepEqual(
    [101, 102, 103, 104, 105, 106, 201, 204].filter(code => !codes.includes(code)),
    [],
  );
});

/** The options that a driver says it has when it is given one that it does not know. */
function driverOptions(driver: string, opts: object): string[] {
  try {
    driverOf({ name: 'r', driver, opts: JSON.stringify(opts) });
  } catch (error) {
    const list = /its driver has (?!none)(.*)$/.exec(messageOf(error))?.[1];
    return list?.split(', ') ?? [];
  }
  assert.fail(`${driver} takes any option`);
}

test('lccrail-drivers(5) has every driver with every option, and no other', () => {
  const page = readProjectFile('man/lccrail-drivers.5');
  const sections = [...page.matchAll(/^\.Ss (?!All drivers)(.+)\n([^]*?)(?=^\.S[sh] )/gm)].map(
    ([, driver = '', text = '']) => ({
      driver,
      options: [...text.matchAll(/^\.It Cm (\S+)/gm)].map(m => m[1]),
    }),
  );
  const known = DRIVER_NAMES.map(driver => ({
    driver,
    options: [
      ...driverOptions(driver, { nosuch: 1 }),
      ...(driver === 'http' ? driverOptions(driver, { clear: { nosuch: 1 } }) : []),
    ],
  }));
  assert.deepEqual(sections, known);
});

test('mandoc finds nothing to complain about in any page', t => {
  const probe = spawnSync('mandoc', ['-Tlint', '-W', 'warning'], { input: '', encoding: 'utf8' });
  if (probe.error !== undefined) {
    assert.notEqual(process.env['CI'], 'true', 'mandoc is not installed');
    t.skip('mandoc is not installed');
    return;
  }
  const pages = manPages();
  assert.ok(pages.length > 0);
  for (const page of pages) assert.match(page.path, /^man\/[\w.-]+\.[1-8]$/);
  const linted = spawnSync('mandoc', ['-Tlint', '-W', 'warning', ...pages.map(page => page.path)], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.deepEqual([linted.stdout, linted.status], ['', 0]);
});
