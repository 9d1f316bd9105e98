import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DRIVER_NAMES, driverOf } from '../../src/clear/drivers/index.js';
import type { RailRequest, Driver, PageToClear, Way } from '../../src/clear/drivers/types.js';

const page = (url: string, contentId = url.slice(1)): PageToClear => ({ url, contentId });

function driver(name: string, opts: object = {}): Driver {
  return driverOf({ name: 'r1', driver: name, opts: JSON.stringify(opts) });
}

/** Method, path and headers on one line. */
function line({ method, path, headers, body }: RailRequest): string {
  const sent = body !== undefined && 'bytes' in body ? [Buffer.from(body.bytes).toString()] : [];
  return [method, path, ...headers, ...sent].join(' ');
}

function renewOf({ renew }: Driver): Way {
  assert.ok(renew !== undefined && renew !== 'put');
  return renew;
}

describe('a driver', () => {
  it('removes and puts files over WebDAV', () => {
    for (const [name, makesFolders] of [
      ['apache-dav', true],
      ['nginx-dav', false],
    ] as const) {
      const dav = driver(name);
      assert.equal(line(dav.clear.ask([page('/a/b.html')])), 'DELETE /a/b.html depth 0');
      assert.equal(dav.clear.ask([page('/a')]).body, undefined);
      assert.deepEqual([dav.renew, dav.makesFolders, dav.clear.most], ['put', makesFolders, undefined]);
    }
  });

  it('purges Varnish by page', () => {
    const varnish = driver('varnish');
    assert.equal(line(varnish.clear.ask([page('/a')])), 'PURGE /a');
    assert.equal(line(renewOf(varnish).ask([page('/a')])), 'SOFTPURGE /a');
  });

  it('purges Varnish by key, many in a request', () => {
    const xkey = driver('varnish-xkey');
    const pages = [page('/1', 'k1'), page('/2', 'k2'), page('/m/1', 'k1'), page('/3', 'é')];
    assert.equal(line(xkey.clear.ask(pages)), 'PURGE / xkey-purge k1 k2 %C3%A9');
    assert.equal(line(renewOf(xkey).ask(pages.slice(0, 1))), 'PURGE / xkey-softpurge k1');
    assert.equal(xkey.clear.most?.chars, 8000);
    assert.equal(xkey.clear.charsOf?.(page('/3', 'é')), 7);
  });

  it('bans what it must, as few bans as it can', () => {
    const ban = driver('varnish-ban');
    assert.equal(
      line(ban.clear.ask([page('/a.b'), page('/c+d')])),
      'BAN / x-ban-url ^(?:/a\\.b|/c\\+d)(?:\\?|$)',
    );
    assert.equal(
      line(driver('varnish-ban', { header: 'X-Other' }).clear.ask([page('/a')])),
      'BAN / x-other ^(?:/a)(?:\\?|$)',
    );
    assert.equal(ban.renew, undefined);
    assert.throws(
      () => driver('varnish-ban', { header: 'a b' }),
      /rail r1: option header: no name of a header/,
    );
  });

  it('has nginx fetch a page again', () => {
    const refresh = driver('nginx-refresh', { header: 'X-Refresh', value: 'secret' });
    const ask = refresh.clear.ask([page('/a')]);
    assert.deepEqual([line(ask), ask.verb], ['GET /a x-refresh secret', 'refresh']);
    const replaced = (way: Way) => way.ask([page('/a')]).asReaders?.statuses ?? [];
    for (const status of [301, 308, 401, 403])
      for (const way of [refresh.clear, refresh.renew as Way]) assert.ok(replaced(way).includes(status));
    assert.deepEqual(
      [replaced(refresh.clear).includes(404), replaced(refresh.renew as Way).includes(404)],
      [true, false],
    );
    assert.throws(
      () => driver('nginx-refresh', { value: 'a\r\nb' }),
      /option value: give a text on one line/,
    );
  });

  it('follows a template', () => {
    const cloud = driver('http', {
      site: 'https://www.example.org',
      per_s: 5,
      burst: 10,
      clear: {
        method: 'POST',
        path: '/zones/z/purge_cache',
        headers: { 'Content-Type': 'application/json' },
        body: '{"files":{pages}}',
        pages: 100,
        done: [200],
      },
      renew: { headers: { 'Fastly-Soft-Purge': '1' } },
    });
    const ask = cloud.clear.ask([page('/a'), page('/b"')]);
    assert.equal(
      line(ask),
      'POST /zones/z/purge_cache content-type application/json {"files":["https://www.example.org/a","https://www.example.org/b\\""]}',
    );
    assert.deepEqual([ask.done, cloud.clear.most?.pages, cloud.rate], [[200], 100, { perS: 5, burst: 10 }]);
    assert.equal(line(renewOf(cloud).ask([page('/a')])), 'PURGE /a fastly-soft-purge 1');
    const keys = driver('http', {
      clear: { path: '/purge', headers: { 'Surrogate-Key': '{keys}' }, pages: 9 },
    });
    assert.equal(
      line(keys.clear.ask([page('/a', 'k'), page('/b', 'k'), page('/c', 'l')])),
      'PURGE /purge surrogate-key k l',
    );
  });

  it('refuses options that it does not have, in one line', () => {
    const refused: [name: string, opts: unknown, why: RegExp][] = [
      ['apache-dav', { x: 1 }, /^rail r1: no option x; its driver has none$/],
      ['http', {}, /option clear: give what is sent/],
      ['http', { clear: { method: 'get' } }, /option method: give a method in capital letters/],
      ['http', { clear: { path: 'x' } }, /option path: give a path/],
      ['http', { clear: { headers: { a: 'b\nc' } } }, /option headers: give names and values/],
      ['http', { clear: { pages: 5000 } }, /option pages: give a number from 1 to 1000/],
      ['http', { clear: { done: ['200'] } }, /option done: give a list of statuses/],
      ['http', { clear: {}, per_s: -1 }, /option per_s: give a number from 0/],
      ['http', { clear: [] }, /option clear: give an object/],
      ['http', [], /its options are no JSON object/],
      ['mod_put', {}, /^rail r1: no driver mod_put; there are apache-dav, nginx-dav, varnish, /],
      ['constructor', {}, /no driver constructor/],
    ];
    for (const [name, opts, why] of refused)
      assert.throws(() => driver(name, opts as object), { message: why });
    assert.throws(() => driverOf({ name: 'r1', driver: 'http', opts: '{' }), /no JSON/);
    assert.equal(DRIVER_NAMES.length, 7);
  });
});
