import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asText, runBin } from '../support/command.js';

const feed2url = (input: string, ...args: string[]) =>
  asText(runBin('feed2url', args, { input, env: { ...process.env, LCC_CONFIG: '' } }));
const feed = (...items: string[]) =>
  `<rss version="2.0"><channel><title>t</title>${items.join('')}</channel></rss>`;

test('a feed becomes a part of a site, item by item', () => {
  const done = feed2url(
    feed(
      '<item><title>a</title><link>http://e/a</link><enclosure url="http://e/a.mp3" length="1" type="audio/mpeg"/></item>',
      '<item><title>b</title></item>',
    ),
    '--enclosures',
    '--type=mp3=audio/mpeg',
    '--drop-outside',
  );
  assert.equal(done.status, 1);
  assert.match(
    done.stdout,
    /^<\?lcc from="feed2url" set="partial"\?>\n<url curl="http:\/\/e\/a" mimetype="\*\/\*" outofroot="drop" entry="[0-9a-f]{32}"\/>\n<url curl="http:\/\/e\/a\.mp3" mimetype="audio\/mpeg" outofroot="drop" entry="[0-9a-f]{32}"\/>\n<\?lcc end set="partial"\?>\n$/,
  );
  assert.match(done.stderr, /standard input: an item without a link; left out/);
  const empty = feed2url(feed());
  assert.deepEqual(
    [empty.status, empty.stdout],
    [0, '<?lcc from="feed2url" set="partial"?>\n<?lcc end set="partial"?>\n'],
  );
});

test('what is no feed ends with 65, and the stream has no end', () => {
  for (const input of [
    '',
    '<html></html>',
    '<urlset><url><loc>http://e/</loc></url></urlset>',
    feed().slice(0, -3),
  ]) {
    const done = feed2url(input);
    assert.deepEqual(
      [done.status, done.stdout],
      [65, '<?lcc from="feed2url" set="partial"?>\n<?lcc-failed status="65"?>\n'],
      input,
    );
  }
});
