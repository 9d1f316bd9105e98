/** Waiting without the event loop, for callers that must not go on before. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export function sleepSync(ms = Infinity): void {
  Atomics.wait(NEVER, 0, 0, ms);
}
