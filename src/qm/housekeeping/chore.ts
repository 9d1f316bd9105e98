/** Something done from time to time, a bounded piece at a time. */
export interface Chore {
  /** Does the next piece, some milliseconds of work at most. @returns milliseconds until the next one */
  run(): number;
}
