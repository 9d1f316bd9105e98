/** How many more lanes a branch is given than it fetches at a time (`bm.overbook_percent`): a slot that falls
 * free finds work. */
export function lanesFor(slots: number, overbookPercent: number): number {
  return Math.ceil(slots * (1 + overbookPercent / 100));
}
