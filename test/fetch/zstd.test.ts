import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodesZstd } from '../../src/fetch/zstd.js';
import { answer, fetchOnce, newEngine, newFolder, rawServer, verdict } from './support.js';

/** The reference program; under CI a missing one is a failure. */
const missing =
  spawnSync('zstd', ['--version']).error !== undefined && process.env['CI'] !== 'true' && 'no zstd';

function compress(content: Buffer, ...options: string[]): Buffer {
  const { stdout, status, stderr } = spawnSync('zstd', ['-c', '-q', ...options], {
    input: content,
    maxBuffer: 2 ** 28,
  });
  assert.equal(status, 0, String(stderr));
  return stdout;
}

const text = Buffer.from('<p>a line of a page that repeats itself, nearly: '.repeat(10_000));
for (let at = 0; at < text.length; at += 501) text[at] = at % 251;

/** What comes of an answer with that body: the content, or the code. */
async function fetched(body: Buffer): Promise<Buffer | string | number> {
  const site = await rawServer(socket => void socket.write(answer(body, 'Content-Encoding: zstd\r\n')));
  const file = join(newFolder(), 'file');
  const outcome = await fetchOnce(newEngine(), { url: site.url, file });
  return outcome.status === 'ok' ? readFileSync(file) : verdict(outcome);
}

describe('zstd', { skip: missing }, () => {
  it('is asked for where this Node finds out that a body is cut, and only there', async () => {
    const { createZstdDecompress } = process.getBuiltinModule('node:zlib') as {
      createZstdDecompress?: () => NodeJS.ReadWriteStream;
    };
    const cut = compress(text).subarray(0, -5);
    const isRight =
      createZstdDecompress !== undefined &&
      (await new Promise<boolean>(resolve => {
        const decoder = createZstdDecompress();
        decoder.on('end', () => resolve(false)).on('error', () => resolve(true));
        decoder.resume();
        decoder.end(cut);
      }));
    assert.equal(decodesZstd(), isRight);
  });

  it('that was not asked for is refused', { skip: decodesZstd() && 'this Node decodes it' }, async () => {
    assert.equal(await fetched(compress(text)), 611);
  });
});

describe('a body in zstd', { skip: missing || (!decodesZstd() && 'this Node decodes none') }, () => {
  for (const options of [[], ['-1'], ['-19'], ['--no-check'], ['--no-content-size']]) {
    it(`is what zstd ${options.join(' ')} was given`, async () => {
      const contents = [
        text,
        randomBytes(300_000),
        Buffer.alloc(1_000_000),
        Buffer.from('a'),
        Buffer.alloc(0),
      ];
      for (const content of contents) {
        const found = await fetched(compress(content, ...options));
        assert.ok(
          Buffer.isBuffer(found) && found.equals(content),
          `${content.length} bytes: ${String(found)}`,
        );
      }
    });
  }

  it('is refused when it is cut, altered, no zstd, of two frames, or wants a window of more than 8 MB', async () => {
    const good = compress(text);
    const flipped = Buffer.from(good);
    flipped[good.length - 1] = (flipped[good.length - 1] ?? 0) ^ 1;
    for (const body of [
      good.subarray(0, -1),
      good.subarray(0, 9),
      flipped,
      Buffer.from('plain text, as it is'),
      Buffer.concat([good, good]),
      Buffer.concat([Buffer.from('502a4d1805000000ffffffffff', 'hex'), good]),
      compress(Buffer.alloc(1000), '--long=27', '--no-content-size', '--single-thread'),
    ])
      assert.equal(await fetched(body), 611, `${body.length} bytes`);
  });

  it('is whole content or an error, whatever bytes come', async () => {
    const content = text.subarray(0, 20_000);
    const good = compress(content);
    const mutation = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(mutation, fc.nat(good.length), async (changes, cut) => {
        const body = Buffer.from(good.subarray(0, cut));
        for (const [at, byte] of changes) if (at < body.length) body[at] = byte;
        const found = await fetched(body);
        // The checksum tells whether it is what was sent; no bytes at all are an empty page.
        const expected = body.length === 0 ? Buffer.alloc(0) : content;
        assert.ok(typeof found === 'number' || expected.equals(found as Buffer));
      }),
      { numRuns: 40 },
    );
  });
});
