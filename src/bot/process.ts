/** Settings of a process in which a robot fetches. */
import { setFlagsFromString } from 'node:v8';

/** To be called before libuv's pool is first used, and before V8 compiles anything of the robot. */
export function setProcessToFetch(): void {
  // Names are looked up, files synced and large bodies decoded in libuv's pool; its four threads would let
  // a few dead name servers hold up everything.
  process.env['UV_THREADPOOL_SIZE'] ??= '32';
  // V8 would optimise undici's parser, which is WebAssembly, after the first answers: 0.15 s of processor
  // time and 40 MB to save 1 µs a page. And it would compile what makes requests once more, and again, as
  // it notices that they live long.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering', '--no-allocation-site-pretenuring'])
    setFlagsFromString(flag);
}
