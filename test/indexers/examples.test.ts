/** What a sysadmin finds beside each script: instructions that name what there is, and a crontab that cron takes. */
import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readProjectFile, ROOT } from '../support/tree.js';
import { ADAPTERS } from './adapters.js';

describe('examples for indexers', () => {
  for (const { name } of ADAPTERS) {
    it(`${name}: the crontab runs the script, as a user, at times`, () => {
      accessSync(join(ROOT, 'examples', name, 'update'), constants.X_OK);
      const lines = readProjectFile(`examples/${name}/crontab`).trimEnd().split('\n');
      const jobs = lines.filter(line => !/^(#|[A-Z_]+=)/.test(line));
      assert.equal(jobs.length, 1);
      assert.match(
        jobs[0] ?? '',
        new RegExp(`^([*/\\d]+ ){5} lcc  /opt/lcc/examples/${name.replaceAll('+', '\\+')}/update /\\S+$`),
      );
      // In /etc/cron.d, which the instructions name, cron passes over names with other characters.
      assert.match(
        readProjectFile(`examples/${name}/README.md`),
        /\/crontab \/etc\/cron\.d\/lcc-[a-z0-9-]+\n/,
      );
    });
  }

  it('are all in the list', () => {
    const list = readProjectFile('examples/README.md');
    for (const { name } of ADAPTERS) assert.ok(list.includes(`](${name}/README.md)`), name);
  });
});
