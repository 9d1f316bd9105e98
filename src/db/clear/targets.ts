/** Targets, the groups they form, and the paths that contents have on them. */
import { LccError } from '../../lib/errors.js';
import { SqlStore } from '../sqlite/sql-store.js';

export interface TargetRow {
  name: string;
  kind: 'elementary' | 'group';
  lbUrl: string | null;
  host: string | null;
}

export interface MemberRow {
  target: string;
  member: string;
}

/** Where contents of a type lie on the rails of a target: at path, their id, extension. */
export interface PathRow {
  contentType: string;
  target: string;
  path: string;
  extension: string;
}

/** Groups above each other, with the elementary target at the bottom. */
export const MAX_DEPTH = 8;

export class TargetStore extends SqlStore {
  readonly #put = this.sql.run<[target: TargetRow]>(
    `INSERT INTO target VALUES ($name, $kind, $lbUrl, $host)
     ON CONFLICT DO UPDATE SET lb_url = excluded.lb_url, host = excluded.host`,
  );
  readonly #remove = this.sql.changed<[name: string]>('DELETE FROM target WHERE name = ?');
  readonly #join = this.sql.run<[group: string, member: string]>(
    'INSERT OR IGNORE INTO target_member VALUES (?, ?)',
  );
  readonly #railsOf = this.sql.values<[name: string], string>(
    'SELECT name FROM rail WHERE target = ? ORDER BY name',
  );
  readonly #addPath = this.sql.run<[row: PathRow]>(
    'INSERT OR IGNORE INTO path_map VALUES ($contentType, $target, $path, $extension)',
  );

  readonly all = this.sql.rows<[], TargetRow>(
    'SELECT name, kind, lb_url AS lbUrl, host FROM target ORDER BY name',
  );

  readonly members = this.sql.rows<[], MemberRow>(
    'SELECT target, member FROM target_member ORDER BY target, member',
  );

  readonly paths = this.sql.rows<[], PathRow>(
    `SELECT content_type AS contentType, target, path, extension FROM path_map
     ORDER BY content_type, target, path, extension`,
  );

  /** Undefined when there is none of that name. */
  readonly get = this.sql.row<[name: string], TargetRow>(
    'SELECT name, kind, lb_url AS lbUrl, host FROM target WHERE name = ?',
  );

  /** @throws LccError `usage` when there is none of that name */
  demand(name: string): TargetRow {
    const target = this.get(name);
    if (target === undefined) throw missing(name);
    return target;
  }

  /** Makes a target, or gives one another address. @throws LccError `usage` when it is there as the other
   * kind */
  put(target: TargetRow): void {
    const known = this.get(target.name);
    if (known !== undefined && known.kind !== target.kind)
      throw new LccError(
        'usage',
        `target ${known.name} is ${described(known.kind)} already; remove it first`,
      );
    this.#put(target);
  }

  /** @throws LccError `usage` when there is none of that name, or it has rails */
  remove(name: string): void {
    const rails = this.#railsOf(name);
    if (rails.length > 0)
      throw new LccError('usage', `target ${name} has rails (${rails.join(', ')}); remove them first`);
    if (!this.#remove(name)) throw missing(name);
  }

  /**
   * Puts a target into a group.
   * @throws LccError `usage` when one of them is not there, `group` is none, it would contain itself, or
   *   groups would be deeper than MAX_DEPTH
   */
  join(group: string, member: string): void {
    const above = this.demand(group);
    this.demand(member);
    if (above.kind !== 'group')
      throw new LccError('usage', `target ${group} is ${described(above.kind)}: only a group has members`);
    const members = this.members();
    if (reaches(members, member, group))
      throw new LccError('usage', `target ${group} would contain itself through ${member}`);
    const depth = longest(members, group, 'up') + longest(members, member, 'down');
    if (depth > MAX_DEPTH)
      throw new LccError('usage', `target ${member} in ${group}: groups ${depth} deep, at most ${MAX_DEPTH}`);
    this.#join(group, member);
  }

  /** @returns whether it was a member */
  readonly leave = this.sql.changed<[group: string, member: string]>(
    'DELETE FROM target_member WHERE target = ? AND member = ?',
  );

  /** @throws LccError `usage` when the target is not there */
  addPath(row: PathRow): void {
    this.demand(row.target);
    this.#addPath(row);
  }

  /** @returns whether it was there */
  readonly removePath = this.sql.changed<[row: PathRow]>(
    `DELETE FROM path_map WHERE content_type = $contentType AND target = $target AND path = $path
       AND extension = $extension`,
  );
}

function missing(name: string): LccError {
  return new LccError('usage', `there is no target ${name}; lccrail target add makes one`);
}

function described(kind: TargetRow['kind']): string {
  return kind === 'group' ? 'a group' : 'an elementary target';
}

/** True if `to` is `from`, or below it. */
function reaches(members: readonly MemberRow[], from: string, to: string): boolean {
  return from === to || members.some(row => row.target === from && reaches(members, row.member, to));
}

/** Targets on the longest way from one, itself included. */
function longest(members: readonly MemberRow[], from: string, way: 'up' | 'down'): number {
  const next = members.flatMap(({ target, member }) => {
    const [start, end] = way === 'down' ? [target, member] : [member, target];
    return start === from ? end : [];
  });
  return 1 + Math.max(0, ...next.map(name => longest(members, name, way)));
}
