/**
 * Tells if anybody still reads a pipe that we have nothing to write to: EPIPE comes with a write alone.
 * poll(2) tells, and Node has no call for it but that of WASI, which needs no program: a memory to talk over
 * is enough. (Opening /proc/self/fd/N without waiting, ENXIO, works for named pipes only; a write of nothing,
 * for none.)
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';

/** Names of WASI preview 1 (`poll_oneoff`). */
const CLOCK = 0;
const FD_WRITE = 2;
const MONOTONIC = 1;
const NO_ERROR = 0;
/** Where subscriptions, events and their number are in the memory; bytes of a subscription. */
const SUBSCRIPTIONS = 0;
const EVENTS = 1024;
const COUNT = 2048;
const SUBSCRIPTION_BYTES = 48;
/** Number of the pipe for WASI, as stdin, stdout and stderr. */
const STDOUT = 1;
/**
 * How long is waited for a pipe that is full and has a reader, which is what the clock says. Once that is
 * over the clock alone is heard: a process that did not get to run for so long misses what poll(2) had to
 * say, and has to ask again.
 */
const WAIT_NS = 2_000_000n;

interface Wasi {
  initialize(instance: { exports: { memory: unknown } }): void;
  wasiImport: { poll_oneoff(from: number, to: number, count: number, eventCount: number): number };
}
interface WasiModule {
  WASI: new (options: object) => Wasi;
}
type MemoryConstructor = new (pages: { initial: number }) => { buffer: ArrayBuffer };

/**
 * Something that says whether the pipe behind a descriptor has lost its last reader, in two milliseconds;
 * undefined where that cannot be known: for files, terminals and sockets, and on systems without /proc. Yes
 * is certain, no is not on a busy machine and while the pipe is full: ask from time to time.
 */
export function watchReader(fd: number): (() => boolean) | undefined {
  let own: number | undefined;
  try {
    if (!fstatSync(fd).isFIFO()) return undefined;
    // Opened again: asking makes a descriptor non-blocking, for everybody who shares it.
    own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    return pollOf(own);
  } catch {
    if (own !== undefined) closeSync(own);
    return undefined;
  }
}

function pollOf(fd: number): () => boolean {
  const { Memory } = Reflect.get(globalThis, 'WebAssembly') as { Memory: MemoryConstructor };
  const memory = new Memory({ initial: 1 });
  const wasi = wasiOn(fd);
  wasi.initialize({ exports: { memory } });
  const view = new DataView(memory.buffer);
  view.setUint8(SUBSCRIPTIONS + 8, FD_WRITE);
  view.setUint32(SUBSCRIPTIONS + 16, STDOUT, true);
  const clock = SUBSCRIPTIONS + SUBSCRIPTION_BYTES;
  view.setUint8(clock + 8, CLOCK);
  view.setUint32(clock + 16, MONOTONIC, true);
  view.setBigUint64(clock + 24, WAIT_NS, true);
  return () => {
    if (wasi.wasiImport.poll_oneoff(SUBSCRIPTIONS, EVENTS, 2, COUNT) !== NO_ERROR) return false;
    for (let i = 0; i < view.getUint32(COUNT, true); i++) {
      const event = EVENTS + 32 * i;
      if (view.getUint8(event + 10) === FD_WRITE) return view.getUint16(event + 8, true) !== NO_ERROR;
    }
    return false;
  };
}

/** Node warns of WASI as of something to run programs with, which nobody does here. */
function wasiOn(fd: number): Wasi {
  const emitWarning: unknown = Reflect.get(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    const { WASI } = process.getBuiltinModule('node:wasi') as unknown as WasiModule;
    return new WASI({ version: 'preview1', stdin: fd, stdout: fd, stderr: fd });
  } finally {
    Reflect.set(process, 'emitWarning', emitWarning);
  }
}
