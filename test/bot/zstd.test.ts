import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ZstdDecoder } from '../../src/bot/zstd.js';

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

async function decode(decoder: ZstdDecoder, body: Buffer, pieceBytes = 65_536): Promise<Buffer> {
  const decoded = buffer(decoder);
  decoded.catch(() => undefined);
  for (let at = 0; at < body.length && !decoder.destroyed; at += pieceBytes) {
    if (!decoder.write(body.subarray(at, at + pieceBytes)))
      await Promise.race([once(decoder, 'drain'), decoded]);
  }
  decoder.end();
  return decoded;
}

const text = Buffer.from('<p>a line of a page that repeats itself, nearly: '.repeat(30_000));
for (let at = 0; at < text.length; at += 501) text[at] = at % 251;

describe('a zstd decoder', { skip: missing }, () => {
  for (const options of [[], ['-1'], ['-19'], ['--no-check'], ['--no-content-size']]) {
    it(`gives what zstd ${options.join(' ')} was given`, async () => {
      for (const content of [
        text,
        randomBytes(300_000),
        Buffer.alloc(1_000_000),
        Buffer.from('a'),
        Buffer.alloc(0),
      ]) {
        const decoded = await decode(new ZstdDecoder(), compress(content, ...options));
        assert.ok(decoded.equals(content), `${content.length} bytes`);
      }
    });
  }

  it('wherever the pieces are cut, over several frames, some of them to be skipped', async () => {
    const skipped = Buffer.from('502a4d1805000000ffffffffff', 'hex');
    const body = Buffer.concat([compress(Buffer.from('one')), skipped, compress(text.subarray(0, 999))]);
    for (const pieceBytes of [1, 2, 3, 5, 17, 1000]) {
      const decoded = await decode(new ZstdDecoder(), body, pieceBytes);
      assert.ok(decoded.equals(Buffer.concat([Buffer.from('one'), text.subarray(0, 999)])));
    }
  });

  it('refuses what is cut, altered, no zstd, or wants a window of more than 8 MB', async () => {
    const good = compress(text);
    const flipped = Buffer.from(good);
    flipped[good.length - 1] = (flipped[good.length - 1] ?? 0) ^ 1;
    const broken = [
      good.subarray(0, -1),
      good.subarray(0, 9),
      flipped,
      Buffer.from('plain text, as it is'),
      compress(Buffer.alloc(1000), '--long=27', '--no-content-size', '--single-thread'),
    ];
    for (const body of broken) await assert.rejects(decode(new ZstdDecoder(), body), `${body.length} bytes`);
  });
});

describe('the thread that decodes', { skip: missing }, () => {
  it('is ended when a body is given up, whatever it is busy with', async () => {
    const decoder = new ZstdDecoder();
    decoder.on('error', () => undefined);
    let bytes = 0;
    decoder.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > 1024 * 1024) decoder.destroy();
    });
    decoder.write(compress(Buffer.alloc(256 * 1024 * 1024), '-1'));
    await once(decoder, 'close');
    assert.ok(bytes < 8 * 1024 * 1024, `${bytes} bytes of a bomb were taken`);
  });

  it('ends with content or an error, whatever bytes it gets', async () => {
    const good = compress(text.subarray(0, 20_000));
    const mutation = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(mutation, async changes => {
        const body = Buffer.from(good);
        for (const [at, byte] of changes) body[at] = byte;
        const decoded = await decode(new ZstdDecoder(), body).catch((error: unknown) => error);
        // The checksum tells whether it is what was sent.
        assert.ok(decoded instanceof Error || text.subarray(0, 20_000).equals(decoded as Buffer));
      }),
      { numRuns: 40 },
    );
  });
});
