import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUrlTag, recordOf, UrlAssembler } from '../../src/wire/url-read.js';

test('known attributes become the record', () => {
  assert.deepEqual(recordOf({ curl: 'a', mimetype: 'text/html', len: '5', code: '404' }), {
    curl: 'a',
    mimetype: 'text/html',
    len: '5',
    code: '404',
  });
});

test('absent keys are empty, absent values absent', () => {
  assert.deepEqual(recordOf({}), { curl: '', mimetype: '' });
  assert.deepEqual(recordOf({ curl: 'a', mimetype: 'b/c', burl: '', furl: '' }), {
    curl: 'a',
    mimetype: 'b/c',
    burl: '',
    furl: '',
  });
});

test('old names are read as their successors, which win beside them', () => {
  assert.deepEqual(recordOf({ c: 'a', b: 'b', f: 'f', mimetype: 'x/y' }), {
    curl: 'a',
    burl: 'b',
    furl: 'f',
    mimetype: 'x/y',
  });
  assert.deepEqual(recordOf({ c: 'old', curl: 'new', mimetype: 'x/y' }), { curl: 'new', mimetype: 'x/y' });
});

test('unknown attributes are kept aside in their order, whatever their names', () => {
  const attributes = Object.fromEntries([
    ['z', '1'],
    ['curl', 'a'],
    ['__proto__', '2'],
    ['constructor', '3'],
    ['extra', '4'],
    ['text', '5'],
  ]);
  const { extra, text } = recordOf(attributes);
  assert.deepEqual(Object.entries(extra ?? {}), [
    ['z', '1'],
    ['__proto__', '2'],
    ['constructor', '3'],
    ['extra', '4'],
    ['text', '5'],
  ]);
  assert.equal(text, undefined);
});

test('values take their canonical form, senseless ones stay to be named', () => {
  const given = { curl: 'a', mimetype: 'x/y' };
  assert.equal(recordOf({ ...given, mtime: '0' }).mtime, '1970-01-01T00:00:00Z');
  assert.equal(recordOf({ ...given, mtime: 'soon' }).mtime, 'soon');
  assert.equal(recordOf({ ...given, md5: 'ABCDEF' }).md5, 'abcdef');
  assert.equal(recordOf({ ...given, len: '007' }).len, '7');
  assert.equal(recordOf({ ...given, len: '000' }).len, '0');
  assert.equal(recordOf({ ...given, len: '-0' }).len, '-0');
});

test('a subtype not of the form type:value is blanked', () => {
  const subtype = (value: string) => recordOf({ curl: 'a', mimetype: 'x/y', subtype: value }).subtype;
  assert.equal(subtype('dtd:article'), 'dtd:article');
  assert.equal(subtype('lang:a b:c'), 'lang:a b:c');
  for (const value of ['', 'article', ':article', 'dtd:', 'a b:c']) assert.equal(subtype(value), '');
});

test('a url is a url with the prefix of the conversations and without', () => {
  assert.deepEqual(['url', 'lococa:url', 'x:url', 'urls', 'URL'].map(isUrlTag), [
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('puts a url with text together, as record and as markup', () => {
  const assembler = new UrlAssembler();
  assembler.open({ curl: 'a', mimetype: 'x/y', code: '404' }, '<url curl="a" mimetype="x/y" code="404">');
  assert.equal(assembler.isOpen, true);
  assembler.text('Not & ');
  assembler.text('Found');
  assert.deepEqual(assembler.close('url'), {
    record: { curl: 'a', mimetype: 'x/y', code: '404', text: 'Not & Found' },
    raw: '<url curl="a" mimetype="x/y" code="404">Not &amp; Found</url>',
  });
  assert.equal(assembler.isOpen, false);
});

test('white space in a url is no text', () => {
  const assembler = new UrlAssembler();
  assembler.open({ curl: 'a', mimetype: 'x/y' }, '<url curl="a" mimetype="x/y">');
  assembler.text('\n  ');
  assert.deepEqual(assembler.close('url').record, { curl: 'a', mimetype: 'x/y' });
});
