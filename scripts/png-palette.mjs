// A picture as browsers take it, with a palette: of our pages, which have few colours, a third of the bytes.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE_BYTES = 8;
const MOST = 256;

/** @param png of 8 bits a channel, without interlacing, as Chromium makes them @returns one with 256 colours at most, the same but for rare ones */
export function withPalette(png) {
  const { width, height, channels, pixels } = decoded(png);
  const colourAt = at => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  const rgbOf = colour => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const seen = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = colourAt(at);
    seen.set(colour, (seen.get(colour) ?? 0) + 1);
  }
  const byCount = [...seen].sort(([, one], [, other]) => other - one);
  const palette = byCount.slice(0, MOST).map(([colour]) => rgbOf(colour));
  const distance = ([r, g, b], [r2, g2, b2]) => (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
  const nearest = rgb =>
    palette.reduce((best, each, i) => (distance(rgb, each) < distance(rgb, palette[best]) ? i : best), 0);
  const places = new Map(byCount.map(([colour]) => [colour, nearest(rgbOf(colour))]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = places.get(colourAt((y * width + x) * channels));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type, data) {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  whole.set(data, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length);
  return whole;
}

function decoded(png) {
  const parts = { IHDR: [], IDAT: [] };
  for (let at = SIGNATURE_BYTES; at < png.length;) {
    const length = png.readUInt32BE(at);
    parts[png.toString('latin1', at + 4, at + 8)]?.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const [head] = parts.IHDR;
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), { 2: 3, 6: 4 }[head[9]]];
  if (head[8] !== 8 || head[12] !== 0 || channels === undefined)
    throw new Error('this PNG is of another kind');
  return {
    width,
    height,
    channels,
    pixels: unfiltered(inflateSync(Buffer.concat(parts.IDAT)), width, height, channels),
  };
}

/** Each row without what it was predicted from: PNG 1.2, 6. */
function unfiltered(rows, width, height, channels) {
  const stride = width * channels;
  const pixels = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (stride + 1)];
    for (let i = 0; i < stride; i++) {
      const left = i < channels ? 0 : pixels[y * stride + i - channels];
      const above = y === 0 ? 0 : pixels[(y - 1) * stride + i];
      const corner = y === 0 || i < channels ? 0 : pixels[(y - 1) * stride + i - channels];
      const from = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      pixels[y * stride + i] = rows[y * (stride + 1) + 1 + i] + from;
    }
  }
  return pixels;
}

function paeth(left, above, corner) {
  const to = value => Math.abs(left + above - corner - value);
  if (to(left) <= to(above) && to(left) <= to(corner)) return left;
  return to(above) <= to(corner) ? above : corner;
}
