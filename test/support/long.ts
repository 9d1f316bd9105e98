/** What only the long set runs: the same as another test shows, on other parts or with more of them. */
import { it, type TestContext } from 'node:test';

export const isLong = process.env['LCC_TEST_LONG'] === '1';

/** A test that only the long set has. @param isOften it has one of several, and this one is for the others as well */
export function longIt(name: string, body: (test: TestContext) => Promise<void>, isOften = false): void {
  if (isLong || isOften) void it(name, body);
}

/** How many of something a test takes: few in the gate, all in the long set. */
export function amount(few: number, all: number): number {
  return isLong ? all : few;
}
