/** Numbers with their units as people read them. */

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;
const STEP = 1024;

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** `12,345`. */
export function countText(count: number): string {
  return WHOLE.format(count);
}

/** `1 byte`, `812 bytes`, `1.4 MB`, `231 MB`: two or three digits, 1024 to the next unit. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= STEP - 0.5 && unit < UNITS.length - 1) [value, unit] = [value / STEP, unit + 1];
  const format = unit > 0 && value < 9.95 ? TENTHS : WHOLE;
  return bytes === 1 ? '1 byte' : `${format.format(value)} ${UNITS[unit] ?? ''}`;
}

/** `1 MB/s`; 0 has no limit. */
export function rateText(bytesPerS: number): string {
  return bytesPerS === 0 ? 'any rate' : `${bytesText(bytesPerS)}/s`;
}

/** Hint of a field for bytes a second. @param first what a site may choose itself */
export function bandwidthHint(first: { bandwidth: number }): string {
  return `Bytes a second, such as 500KB${first.bandwidth === 0 ? '' : `; at most ${rateText(first.bandwidth)}`}`;
}
