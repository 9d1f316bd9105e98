/** The lease of a home in the engine: what its owner and those who would be say and read. */
import type { Engine, EngineLane } from './engine.js';
import type { EngineSession } from './session.js';

/** A home, as one look shows it. */
export interface LeaseLook {
  /** UUID of the whole LCC. */
  lcc: string;
  epoch: number;
  /** A machine; '' for none. */
  owner: string;
  beat: number;
}

/** A look at the first node of the list is worth nothing later. */
const LOOK_MS = 500;
export const LOOK = 'SELECT lcc, home.epoch, owner, beat FROM home JOIN pulse USING (shard) WHERE shard = ?';

export class LeaseRows {
  readonly #shard: number;
  readonly #machine: string;
  /** The owner's: nothing else is to delay a beat. */
  readonly #beats: EngineLane;
  readonly #looks: EngineLane;
  readonly #claims: EngineLane;

  constructor(engine: Engine, shard: number, machine: string) {
    this.#shard = shard;
    this.#machine = machine;
    this.#beats = engine.lane();
    this.#looks = engine.lane(LOOK_MS);
    this.#claims = engine.lane();
  }

  /** @param sent called with each try, before it is sent. @returns false: another has the home */
  beat(epoch: number, sent: () => void, stop: AbortSignal): Promise<boolean> {
    return this.#beats.run(async session => {
      sent();
      const sql = 'UPDATE pulse SET beat = beat + 1 WHERE shard = ? AND epoch = ?';
      if ((await session.change(sql, this.#shard, epoch)) > 0) return true;
      await session.change('ROLLBACK');
      // A node that lags has an older epoch.
      if ((await this.#synced(session))?.epoch !== epoch) return false;
      return (await session.change(sql, this.#shard, epoch)) > 0;
    }, stop);
  }

  /** At the first node, as it has it; undefined: the engine has nothing of this home. @throws when it does
   * not answer in time */
  look(stop: AbortSignal): Promise<LeaseLook | undefined> {
    return this.#looks.run(async session => (await session.all<LeaseLook>(LOOK, this.#shard))[0], stop);
  }

  /** As the whole engine has it. */
  lookSynced(stop: AbortSignal): Promise<LeaseLook | undefined> {
    return this.#claims.run(session => this.#synced(session), stop);
  }

  /**
   * Takes the home, if nobody has beaten or claimed since the look.
   * @returns the new epoch; undefined: somebody has
   */
  claim({ epoch, beat }: LeaseLook, stop: AbortSignal): Promise<number | undefined> {
    const next = epoch + 1;
    return this.#claims.run(async session => {
      const home = await session.change(
        'UPDATE home SET epoch = epoch + 1, owner = ? WHERE shard = ? AND epoch = ?',
        this.#machine,
        this.#shard,
        epoch,
      );
      const pulse = await session.change(
        'UPDATE pulse SET epoch = epoch + 1, beat = beat + 1 WHERE shard = ? AND epoch = ? AND beat = ?',
        this.#shard,
        epoch,
        beat,
      );
      if (home > 0 && pulse > 0) {
        await session.change('UPDATE file SET epoch = epoch + 1 WHERE shard = ?', this.#shard);
        return next;
      }
      await session.change('ROLLBACK');
      // Perhaps it was done, and only the answer was lost.
      const now = await this.#synced(session);
      return now?.epoch === next && now.owner === this.#machine ? next : undefined;
    }, stop);
  }

  /** Gives the home up; nothing is shipped after it. */
  async free(epoch: number, stop: AbortSignal): Promise<void> {
    await this.#claims.run(
      session =>
        session.change(
          "UPDATE home SET owner = '' WHERE shard = ? AND epoch = ? AND owner = ?",
          this.#shard,
          epoch,
          this.#machine,
        ),
      stop,
    );
  }

  /** For `lcckeep status`: how many bytes this machine, which does not own the home, has yet to copy. */
  async behind(bytes: number, stop: AbortSignal): Promise<void> {
    await this.#claims.run(
      session =>
        session.change(
          'REPLACE INTO standby VALUES (?, ?, ?, UNIX_TIMESTAMP())',
          this.#shard,
          this.#machine,
          bytes,
        ),
      stop,
    );
  }

  async #synced(session: EngineSession): Promise<LeaseLook | undefined> {
    return (await session.allSynced<LeaseLook>(LOOK, this.#shard))[0];
  }
}
