/** Numbers with their units, as people write and read them: `10s`, `1.5h`, `64KB` (1024 bytes each), `100
 * KB/s`. */

export type Unit = 'ms' | 'bytes' | 'count' | 'percent' | 'bytes_per_s';

export const KB = 1024;
export const MB = 1024 * KB;
export const GB = 1024 * MB;
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const BYTES = { byte: 1, bytes: 1, b: 1, kb: KB, mb: MB, gb: GB, tb: 1024 * GB };
/** Size of one of each unit, in lower case. */
const SIZES: Record<Unit, Record<string, number>> = {
  ms: { ms: 1, s: SECOND, min: MINUTE, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY },
  bytes: BYTES,
  bytes_per_s: BYTES,
  percent: { '%': 1 },
  count: {},
};

/** The number that a text says, which need not be whole; without a unit it is in `unit` itself. @returns
 * undefined for no amount */
export function parseAmount(text: string, unit: Unit): number | undefined {
  const bare = unit === 'bytes_per_s' ? text.replace(/\/s\s*$/i, '') : text;
  const found = /^\s*(\d+(?:\.\d+)?)\s*([a-z%]*)\s*$/i.exec(bare);
  if (found === null) return undefined;
  const size = found[2] === '' ? 1 : SIZES[unit][found[2]?.toLowerCase() ?? ''];
  return typeof size === 'number' ? Number(found[1]) * size : undefined;
}

/** A number with its unit, for people. */
export function formatAmount(value: number, unit: Unit): string {
  switch (unit) {
    case 'bytes':
      if (value === 1) return '1 byte';
      return formatScaled(value, [
        [GB, 'GB'],
        [MB, 'MB'],
        [KB, 'KB'],
        [1, 'bytes'],
      ]);
    case 'bytes_per_s':
      return `${formatAmount(value, 'bytes')}/s`;
    case 'ms':
      return formatScaled(value, [
        [DAY, 'd'],
        [HOUR, 'h'],
        [MINUTE, 'min'],
        [SECOND, 's'],
        [1, 'ms'],
      ]);
    case 'percent':
      return `${value} %`;
    case 'count':
      return String(value);
  }
}

function formatScaled(value: number, scales: readonly (readonly [number, string])[]): string {
  for (const [size, name] of scales)
    if (value >= size && value % size === 0) return `${value / size} ${name}`;
  return `${value} ${scales.at(-1)?.[1] ?? ''}`;
}
