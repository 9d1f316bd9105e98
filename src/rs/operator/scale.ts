/** Axes: round numbers up to the greatest value, and round times of this machine's zone. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const BYTE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024];
const STEPS = [1, 2, 5, 10];
/** The least greatest value of an axis. */
const LEAST = { whole: 4, rate: 1, bytes: 4096 } as const;

/**
 * Ticks from 0 to at least `most`, some four of them.
 * @param kind whole numbers have whole ticks, bytes those of their units
 */
export function valueTicks(most: number, kind: keyof typeof LEAST): number[] {
  const wanted = Math.max(most, LEAST[kind]) / 4;
  const unit =
    kind === 'bytes' ? 1024 ** Math.floor(Math.log2(wanted) / 10) : 10 ** Math.floor(Math.log10(wanted));
  const steps = kind === 'bytes' ? BYTE_STEPS : STEPS;
  const step = (steps.find(each => each * unit >= wanted) ?? steps.at(-1) ?? 1) * unit;
  const size = kind === 'whole' ? Math.ceil(step) : step;
  const top = Math.max(most, LEAST[kind]);
  return Array.from({ length: Math.ceil(top / size - 1e-9) + 1 }, (_, i) => i * size);
}

/** Times with a label: whole tens of minutes of an hour, whole days of weeks. */
export function timeTicks(fromMs: number, toMs: number): { atMs: number; label: string }[] {
  const ticks: { atMs: number; label: string }[] = [];
  const two = (value: number) => String(value).padStart(2, '0');
  if (toMs - fromMs > 2 * DAY_MS) {
    const days = Math.ceil((toMs - fromMs) / DAY_MS / 6);
    const midnight = new Date(toMs);
    midnight.setHours(0, 0, 0, 0);
    for (let at = midnight; at.getTime() >= fromMs; at.setDate(at.getDate() - days)) {
      const label = at.toLocaleDateString('en', { month: 'short', day: 'numeric' });
      ticks.unshift({ atMs: at.getTime(), label });
    }
    return ticks;
  }
  const stepMs = [1 / 6, 0.5, 1, 2, 5, 10, 30, 60, 180, 360]
    .map(minutes => minutes * MINUTE_MS)
    .find(each => (toMs - fromMs) / each <= 7);
  for (let atMs = Math.ceil(fromMs / (stepMs ?? DAY_MS)) * (stepMs ?? DAY_MS); atMs <= toMs;) {
    const at = new Date(atMs);
    const seconds = (stepMs ?? DAY_MS) < MINUTE_MS ? `:${two(at.getSeconds())}` : '';
    ticks.push({ atMs, label: `${two(at.getHours())}:${two(at.getMinutes())}${seconds}` });
    atMs += stepMs ?? DAY_MS;
  }
  return ticks;
}
