/** Targets, the groups they form, and the paths that contents have on them. */
import { LccError } from '../../lib/errors.js';
import type { Db } from '../../lib/sqlite.js';

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

export class TargetStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      all: db.prepare<[], TargetRow>('SELECT name, kind, lb_url AS lbUrl, host FROM target ORDER BY name'),
      get: db.prepare<[string], TargetRow>(
        'SELECT name, kind, lb_url AS lbUrl, host FROM target WHERE name = ?',
      ),
      put: db.prepare<[string, string, string | null, string | null]>(
        `INSERT INTO target VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET lb_url = excluded.lb_url, host = excluded.host`,
      ),
      remove: db.prepare<[string]>('DELETE FROM target WHERE name = ?'),
      members: db.prepare<[], MemberRow>('SELECT target, member FROM target_member ORDER BY target, member'),
      join: db.prepare<[string, string]>('INSERT OR IGNORE INTO target_member VALUES (?, ?)'),
      leave: db.prepare<[string, string]>('DELETE FROM target_member WHERE target = ? AND member = ?'),
      railsOf: db.prepare<[string], string>('SELECT name FROM rail WHERE target = ? ORDER BY name').pluck(),
      paths: db.prepare<[], PathRow>(
        `SELECT content_type AS contentType, target, path, extension FROM path_map
         ORDER BY content_type, target, path, extension`,
      ),
      addPath: db.prepare<[string, string, string, string]>(
        'INSERT OR IGNORE INTO path_map VALUES (?, ?, ?, ?)',
      ),
      removePath: db.prepare<[string, string, string, string]>(
        'DELETE FROM path_map WHERE content_type = ? AND target = ? AND path = ? AND extension = ?',
      ),
    };
  }

  all(): TargetRow[] {
    return this.#statements.all.all();
  }

  members(): MemberRow[] {
    return this.#statements.members.all();
  }

  paths(): PathRow[] {
    return this.#statements.paths.all();
  }

  /** Undefined when there is none of that name. */
  get(name: string): TargetRow | undefined {
    return this.#statements.get.get(name);
  }

  /** @throws LccError `usage` when there is none of that name */
  demand(name: string): TargetRow {
    const target = this.get(name);
    if (target === undefined) throw missing(name);
    return target;
  }

  /** Makes a target, or gives one another address. @throws LccError `usage` when it is there as the other kind */
  put({ name, kind, lbUrl, host }: TargetRow): void {
    const known = this.get(name);
    if (known !== undefined && known.kind !== kind)
      throw new LccError('usage', `target ${name} is ${described(known.kind)} already; remove it first`);
    this.#statements.put.run(name, kind, lbUrl, host);
  }

  /** @throws LccError `usage` when there is none of that name, or it has rails */
  remove(name: string): void {
    const rails = this.#statements.railsOf.all(name);
    if (rails.length > 0)
      throw new LccError('usage', `target ${name} has rails (${rails.join(', ')}); remove them first`);
    if (this.#statements.remove.run(name).changes === 0) throw missing(name);
  }

  /**
   * Puts a target into a group.
   * @throws LccError `usage` when one of them is not there, `group` is none, it would contain itself, or groups would be
   *   deeper than MAX_DEPTH
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
    this.#statements.join.run(group, member);
  }

  /** @returns whether it was a member */
  leave(group: string, member: string): boolean {
    return this.#statements.leave.run(group, member).changes > 0;
  }

  /** @throws LccError `usage` when the target is not there */
  addPath({ contentType, target, path, extension }: PathRow): void {
    this.demand(target);
    this.#statements.addPath.run(contentType, target, path, extension);
  }

  /** @returns whether it was there */
  removePath({ contentType, target, path, extension }: PathRow): boolean {
    return this.#statements.removePath.run(contentType, target, path, extension).changes > 0;
  }
}

function missing(name: string): LccError {
  return new LccError('usage', `there is no target ${name}; lccrail target add makes one`);
}

function described(kind: TargetRow['kind']): string {
  return kind === 'group' ? 'a group' : 'an elementary target';
}

/** Whether `to` is `from`, or below it. */
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
