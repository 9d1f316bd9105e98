/** Waiting without the event loop, for those who must not go on before. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export function sleepSync(ms = Infinity): void {
  Atomics.wait(NEVER, 0, 0, ms);
}
