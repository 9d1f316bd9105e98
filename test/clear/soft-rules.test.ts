import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileGlob } from '../../src/lib/glob.js';
import { softRulesOf, mapOf } from './support.js';
import { amount } from '../support/long.js';

describe('a pattern of paths', () => {
  it('has stars for a part of a segment, and double stars for anything', () => {
    const cases: [pattern: string, path: string, is: boolean][] = [
      ['/a/*.html', '/a/x.html', true],
      ['/a/*.html', '/a/b/x.html', false],
      ['/a/**.html', '/a/b/x.html', true],
      ['/a/*/c', '/a//c', true],
      ['/**', '/', true],
      ['/a*', '/a', true],
      ['/a', '/ab', false],
      ['/*/*/x', '/a/b/c/x', false],
      ['/**/x/*', '/x/x/x/y', true],
      ['/[a].html', '/a.html', false],
    ];
    for (const [pattern, path, is] of cases)
      assert.equal(compileGlob(pattern)(path), is, `${pattern} ${path}`);
  });

  it('matches what the regular expression for it does', () => {
    const text = (letters: string[]) =>
      fc.array(fc.constantFrom(...letters), { maxLength: 12 }).map(all => all.join(''));
    fc.assert(
      fc.property(text(['a', 'b', '/', '*', '**']), text(['a', 'b', '/', '.']), (pattern, path) => {
        const source = pattern.replace(/\*+/g, stars => (stars === '*' ? '[^/]*' : '.*'));
        assert.equal(compileGlob(pattern)(path), new RegExp(`^${source}$`, 's').test(path));
      }),
      { numRuns: amount(2000, 20_000) },
    );
  });
});

describe('a page is soft', () => {
  const map = mapOf({ world: ['us', 'europe'], europe: ['eu1', 'eu2'] });

  it('when a rule of its target, or of a group above, names it or has a pattern for it', () => {
    const rules = softRulesOf(map, 'europe /index.html', 'world /news/*.html', 'eu1 /x');
    const soft = (target: string, url: string) => rules.isSoft({ target, url });
    assert.deepEqual(
      [soft('eu1', '/index.html'), soft('eu2', '/index.html'), soft('us', '/index.html')],
      [true, true, false],
    );
    assert.deepEqual([soft('us', '/news/a.html'), soft('us', '/news/b/a.html')], [true, false]);
    assert.deepEqual([soft('eu1', '/x'), soft('eu2', '/x')], [true, false]);
  });

  it('only by rules that are enabled', () => {
    const rules = softRulesOf(map, '-us /a', '-us /b*');
    assert.deepEqual(
      [rules.isSoft({ target: 'us', url: '/a' }), rules.isSoft({ target: 'us', url: '/b' })],
      [false, false],
    );
  });
});
