import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MAX_DEPTH, type MemberRow } from '../../../src/db/clear/targets.js';
import { addGroup, addTargets, newClearDb, railOf } from './support.js';
import { amount } from '../../support/long.js';

describe('targets', () => {
  it('are elementary or groups, and stay what they are', () => {
    const { targets } = newClearDb();
    targets.put({ name: 'us', kind: 'elementary', lbUrl: 'http://lb/', host: 'www.example.org' });
    targets.put({ name: 'all', kind: 'group', lbUrl: null, host: null });
    targets.put({ name: 'us', kind: 'elementary', lbUrl: 'http://other/', host: null });
    assert.deepEqual(targets.get('us'), {
      name: 'us',
      kind: 'elementary',
      lbUrl: 'http://other/',
      host: null,
    });
    assert.throws(
      () => targets.put({ name: 'us', kind: 'group', lbUrl: null, host: null }),
      /elementary target already/,
    );
    assert.throws(() => targets.join('us', 'all'), /only a group has members/);
    assert.throws(() => targets.join('all', 'none'), /there is no target none/);
    assert.throws(() => targets.remove('none'), /there is no target none/);
  });

  it('are removed with their paths and memberships, but not with their rails', () => {
    const db = newClearDb();
    const { targets, rails } = db;
    addTargets(db, 'us');
    addGroup(db, 'all', 'us');
    targets.addPath({ contentType: 'page', target: 'us', path: '/', extension: '.html' });
    rails.add(railOf('r1', 'us'), 1);
    assert.throws(() => targets.remove('us'), /has rails \(r1\)/);
    rails.remove('r1');
    targets.remove('us');
    assert.deepEqual(
      [targets.all().map(row => row.name), targets.members(), targets.paths()],
      [['all'], [], []],
    );
  });

  it('have paths by type, each once', () => {
    const db = newClearDb();
    const path = { contentType: 'page', target: 'us', path: '/a/', extension: '' };
    assert.throws(() => db.targets.addPath(path), /there is no target us/);
    addTargets(db, 'us');
    db.targets.addPath(path);
    db.targets.addPath(path);
    assert.deepEqual(db.targets.paths(), [path]);
    assert.deepEqual([db.targets.removePath(path), db.targets.removePath(path)], [true, false]);
  });

  it('form groups of groups without circles, at most eight deep', () => {
    const names = Array.from({ length: 12 }, (_, i) => `g${i}`);
    const pairs = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 40 });
    fc.assert(
      fc.property(pairs, joins => {
        const db = newClearDb(':memory:');
        for (const name of names) addGroup(db, name);
        const model: MemberRow[] = [];
        for (const [target, member] of joins) {
          const next = [...model, { target, member }];
          const depth = Math.max(...names.map(name => depthOf(next, name, names.length)));
          const isRefused = depth > MAX_DEPTH;
          if (isRefused)
            assert.throws(() => db.targets.join(target, member), /contain itself|deep, at most 8/);
          else {
            db.targets.join(target, member);
            model.push({ target, member });
          }
        }
        const expected = new Set(model.map(({ target, member }) => `${target} ${member}`));
        assert.deepEqual(new Set(db.targets.members().map(row => `${row.target} ${row.member}`)), expected);
      }),
      { numRuns: amount(20, 50) },
    );
  });
});

/** Of a way down; more than `most` where there is a circle. */
function depthOf(members: readonly MemberRow[], from: string, most: number): number {
  if (most < 0) return 1;
  const below = members.filter(row => row.target === from).map(row => depthOf(members, row.member, most - 1));
  return 1 + Math.max(0, ...below);
}
