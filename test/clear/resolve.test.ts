import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveRequest, URL_TYPE, type Resolved } from '../../src/clear/resolve.js';
import { mapOf } from './support.js';

const TREE = { world: ['us', 'europe'], europe: ['eu1', 'eu2'], alone: [] };
const options = { utf8: false, maxPages: 10 };

/** `target/url …`, or why not. */
function resolved(paths: readonly string[], contentType: string, target: string, contentId = 'id'): string {
  const result: Resolved = resolveRequest(mapOf(TREE, paths), { contentId, contentType, target }, options);
  return 'rejected' in result ? result.rejected : result.pages.map(page => page.target + page.url).join(' ');
}

describe('a request is resolved', () => {
  it('to path, id and extension on each elementary target', () => {
    const paths = ['page us /a/ .html', 'page us /mobile/ .html', 'other us /x/ .js'];
    assert.equal(resolved(paths, 'page', 'us'), 'us/a/id.html us/mobile/id.html');
    assert.equal(resolved(paths, 'other', 'us', 'lib/q'), 'us/x/lib/q.js');
  });

  it('by the paths of the target itself, else of the one that was named, else of the nearest group', () => {
    const paths = ['page us /us/', 'page europe /europe/', 'page eu2 /eu2/', 'page world /world/'];
    assert.equal(resolved(paths, 'page', 'world'), 'us/us/id eu1/world/id eu2/eu2/id');
    assert.equal(resolved(paths, 'page', 'europe'), 'eu1/europe/id eu2/eu2/id');
    assert.equal(resolved(paths, 'page', 'eu1'), 'eu1/europe/id');
    assert.equal(resolved(['page world /w/'], 'page', 'eu1'), 'eu1/w/id');
    assert.equal(resolved(['page us /us/'], 'page', 'world'), 'us/us/id', 'where it lies at all');
  });

  it('to each page once', () => {
    const paths = ['page us /a', 'page us /a/ ', 'page us / '];
    assert.equal(
      resolved(['page us /a/x .html', 'page us /a/ .html'], 'page', 'us', 'x1'),
      'us/a/xx1.html us/a/x1.html',
    );
    assert.equal(resolved(paths, 'page', 'us', 'a/b'), 'us/aa/b us/a/a/b us/a/b');
    const map = mapOf({ all: ['us', 'both'], both: ['us'] }, ['page us /']);
    const twice = resolveRequest(map, { contentId: 'x', contentType: 'page', target: 'all' }, options);
    assert.deepEqual(twice, { pages: [{ target: 'us', url: '/x' }] });
  });

  it('as it is, if it is a url below a path of the target', () => {
    const paths = ['page us /a/ .html', 'page europe /b/'];
    assert.equal(resolved(paths, URL_TYPE, 'us', '/a/x/y.png'), 'us/a/x/y.png');
    assert.equal(resolved(paths, URL_TYPE, 'world', '/b/x'), 'eu1/b/x eu2/b/x');
    assert.match(resolved(paths, URL_TYPE, 'us', '/b/x'), /^outside: "\/b\/x" is below no path/);
    assert.match(resolved(paths, URL_TYPE, 'us', '/a/../b'), /^bad-url: .*segment/);
    assert.match(resolved(paths, URL_TYPE, 'us', '/a/x/'), /^bad-url: .*folder/);
  });
});

describe('the page of a folder', () => {
  const pages = (paths: readonly string[], target: string, url: string, ofCaches: readonly string[] = []) => {
    const map = mapOf(TREE, ['@url world /', ...paths], ofCaches);
    const result = resolveRequest(map, { contentId: url, contentType: URL_TYPE, target }, options);
    return 'rejected' in result
      ? result.rejected
      : result.pages.map(page => page.target + page.url).join(' ');
  };

  it('is refused where it may be a whole folder, with what to do', () => {
    for (const url of ['/', '/x/'])
      assert.match(
        pages([], 'us', url),
        /^bad-url: .*folder \(lccrail map add us --type=@index --path=\/ --extension=index\.html/,
      );
    assert.match(pages(['@index us / index.html'], 'world', '/x/'), /lccrail map add eu1 /, 'of any target');
  });

  it('is the file that is set up, also for a group', () => {
    assert.equal(pages(['@index us / index.html'], 'us', '/'), 'us/index.html');
    assert.equal(
      pages(['@index world / index.html', '@index us /php/ index.php'], 'us', '/php/'),
      'us/php/index.php',
    );
    assert.equal(pages(['@index world / home'], 'europe', '/x/'), 'eu1/x/home eu2/x/home');
    assert.match(pages(['@index us /a/ index.html'], 'us', '/b/'), /^bad-url: /);
  });

  it('is what it is called where no rail has files', () => {
    assert.equal(pages([], 'us', '/', ['us']), 'us/');
    assert.equal(pages(['@index us / i.html'], 'us', '/x/', ['us']), 'us/x/i.html', 'and on caches /x/, too');
  });

  it('permits no page by its file alone, and no id', () => {
    const index = ['@index us / index.html', 'page us /a/'];
    assert.match(resolved(index, URL_TYPE, 'us', '/b'), /^outside: /);
    assert.match(resolved(index, 'page', 'us', 'x/'), /^bad-content-id: /);
  });
});

describe('a request is rejected, with a code and what is wrong,', () => {
  it('that names nothing there is', () => {
    assert.match(resolved([], 'page', 'none'), /^no-target: there is no target "none"$/);
    assert.match(
      resolved(['page us /'], 'text', 'us'),
      /^no-path-map: no path for contents of type "text" on "us"/,
    );
    assert.match(resolved(['page us /'], 'page', 'alone'), /^no-path-map: /);
  });

  it('that is hostile', () => {
    assert.match(resolved(['page us /'], 'page', 'us', '../x'), /^bad-content-id: /);
    assert.match(resolved(['page us /../'], 'page', 'us'), /^bad-url: /, 'also when the path is');
    assert.match(resolved(['page us / /'], 'page', 'us'), /^bad-url: .*folder/);
    const long = resolved([], 'page', 'x'.repeat(10_000));
    assert.ok(long.length < 300 && !long.includes('\n'));
  });

  it('that has more pages than are permitted', () => {
    const paths = Array.from({ length: 11 }, (_, i) => `page us /${i}/`);
    assert.equal(resolved(paths, 'page', 'us'), 'too-many-pages: more than 10');
    assert.equal(resolved(paths.slice(1), 'page', 'us').split(' ').length, 10);
  });
});
