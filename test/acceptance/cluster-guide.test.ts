/** From one machine to three, and on to two homes, by the commands of lcc-cluster(7) as they are printed, with the files of examples/cluster. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { noMachines, Network, type Machine } from '../machines/support/network.js';
import { certify } from '../support/certify.js';
import { noGalera } from '../support/engine.js';
import { binDir, shell } from '../support/shell.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until, watchLog } from '../support/until.js';

/** What a unit of the examples has its program know. */
function environmentOf(unit: string): string {
  const [, text = ''] = /^Environment=(.+)$/m.exec(readProjectFile(`examples/cluster/${unit}.service`)) ?? [];
  return text.replaceAll('%i', '$1').replaceAll(/=\/(?=var|etc)/g, '=$M/');
}

/** In the place of what a system has: packages, users, systemd, and the socket of its one MariaDB. */
const SYSTEM = `
apt-get() { :; }
install() { command install $(printf '%s ' "$@" | sed 's/-o lcc -g lcc//'); }
home() { env ${environmentOf('lccd@')} lccd </dev/null >/dev/null 2>"$M/lccd$1.log" & }
front() { mkdir -p "$M/var/lib/lcc/front"; env ${environmentOf('lccd-fe')} lccd-fe </dev/null >/dev/null 2>"$M/front.log" & }
mariadb() { command mariadb --socket="$M/sock" "$@"; }
engine() {
  setpriv --reuid=mysql --regid=mysql --clear-groups mariadbd --defaults-file="$M/etc/mysql/mariadb.conf.d/99-lcc.cnf" \\
    --datadir="$M/data" --socket="$M/sock" --pid-file="$M/pid" --log-error="$M/log" --innodb-log-file-size=32M "$@" </dev/null >/dev/null 2>&1 &
  until mariadb -e 'select 1' >/dev/null 2>&1; do kill -0 $!; done
}
galera_new_cluster() { engine --wsrep-new-cluster; }
systemctl() {
  case "$*" in
    'stop mariadb') ;;
    'start mariadb') engine ;;
    'restart lccd' | 'enable --now lccd')
      lccd </dev/null >/dev/null 2>"$M/lccd.log" &
      echo $! >"$M/lccd.pid" ;;
    'disable --now lccd')
      kill "$(cat "$M/lccd.pid")"
      tail --pid="$(cat "$M/lccd.pid")" -f /dev/null ;;
    'enable --now lccd@'?) home "\${3#lccd@}" ;;
    'enable --now lccd-fe') front ;;
    *) return 64 ;;
  esac
}
`;

describe('lcc-cluster(7)', { skip: noMachines || noGalera }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-guide-'));
  chmodSync(dir, 0o755);
  const network = new Network();
  after(() => {
    network.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const machines = ['h1', 'h2', 'h3'].map(name => network.machine(name));
  const place = ({ name }: Machine) => join(dir, name);
  for (const machine of machines)
    for (const log of ['lccd.log', 'lccd0.log', 'lccd1.log', 'front.log']) {
      const path = join(place(machine), log);
      watchLog(() => (existsSync(path) ? readFileSync(path, 'utf8') : ''));
    }

  /** Text of the project with the names and folders of this test in place of its own. */
  const here = (text: string, machine: Machine) =>
    machines
      .reduce((told, { name, address }) => told.replaceAll(`${name}.example.org`, address), text)
      .replaceAll('/etc/', `${place(machine)}/etc/`)
      .replaceAll('/var/lib/', `${place(machine)}/var/lib/`)
      .replaceAll('/usr/share/doc/lcc', ROOT);

  /** What is printed with an indent in the manual, block by block. */
  const blocks = [...readProjectFile('man/lcc-cluster.7').matchAll(/^\.Bd -literal.*\n([^]*?)^\.Ed/gm)].map(
    ([, text = '']) => text.replaceAll('\\(dq', '"').replaceAll('\\e', '\\'),
  );
  /** Of those that have what the words say. */
  const block = (words: string) => blocks.find(text => text.includes(words)) ?? assert.fail(words);

  const run = async (machine: Machine, lines: string): Promise<string> => {
    const script = join(place(machine), 'script');
    writeFileSync(script, `set -e\n${SYSTEM}\n${here(lines, machine)}`);
    const env = { ...process.env, M: place(machine), LCC_HOME: join(place(machine), 'var/lib/lcc') };
    const config = join(place(machine), 'etc/lcc/lcc.toml');
    const { status, stdout, stderr } = await shell(
      `${machine.via.join(' ')} bash ${script}`,
      { ...env, LCC_CONFIG: config, PATH: `${binDir}:${process.env['PATH']}:/usr/sbin` },
      place(machine),
    );
    assert.equal(status, 0, `${lines}\n${stderr}`);
    return stdout;
  };

  const shows = (machine: Machine, wanted: RegExp, line = 'lcckeep status') =>
    until(`${line} shows ${String(wanted)}`, async () => {
      const shown = await run(machine, `${line} || true`);
      return wanted.test(shown) && shown;
    });
  /** Those that are left, the owner of home 0 first. */
  let left: readonly [Machine, Machine];
  let password = '';

  it('leads from one machine to three, of which one takes over', async () => {
    const [first, ...others] = machines as [Machine, ...Machine[]];
    const files = certify(
      dir,
      machines.map(({ address }) => address),
    );
    for (const machine of machines) {
      for (const folder of ['etc/mysql/mariadb.conf.d', 'etc/lcc', 'var/lib/lcc', 'data'])
        mkdirSync(join(place(machine), folder), { recursive: true });
      ['machine.pem', 'machine.key', 'machines.pem'].forEach((name, i) => {
        copyFileSync(files[i] ?? '', join(place(machine), 'etc/lcc', name));
        copyFileSync(files[i] ?? '', join(place(machine), 'etc/mysql', name));
      });
      for (const [name, password] of [
        ['engine.password', 'rows of the engine'],
        ['engine.admin', 'tables of the engine'],
      ] as const)
        writeFileSync(join(place(machine), 'etc/lcc', name), `${password}\n`, { mode: 0o600 });
      await run(machine, 'chown -R mysql:mysql $M');
      const make = '--user=mysql --datadir=$M/data --auth-root-authentication-method=normal --skip-test-db';
      if (machine === first)
        await run(machine, `mariadb-install-db --no-defaults ${make} --innodb-log-file-size=32M`);
    }
    const [install = '', begin = '', goOn = '', toml = '', init = '', start = ''] = blocks;
    for (const machine of machines) {
      await run(machine, install);
      const cnf = join(place(machine), 'etc/mysql/mariadb.conf.d/99-lcc.cnf');
      const named = readFileSync(cnf, 'utf8').replace(
        /(wsrep_node_(?:name|address) = )h1/g,
        `$1${machine.name}`,
      );
      writeFileSync(cnf, here(named, machine));
      await run(machine, machine === first ? `cd ${ROOT}/examples/cluster\n${begin}` : goOn);
    }
    // The LCC that there is.
    writeFileSync(join(place(first), 'etc/lcc/lcc.toml'), '');
    password = (await run(first, 'lccpidb add --pid=1 --root=http://www.example.org/')).trim();
    for (const machine of machines) {
      const own = toml
        .replace('machine = "h1', `machine = "${machine.name}`)
        .replace('machine_id = "h1"', `machine_id = "${machine.name}"`)
        .replace('@h1.example.org', `@${machine.name}.example.org`)
        .replace(
          machine === first ? '' : `,${machine.name}.example.org`,
          machine === first ? '' : ',h1.example.org',
        );
      writeFileSync(join(place(machine), 'etc/lcc/lcc.toml'), here(own, machine));
    }
    await run(first, init.replace('lcckeep status', 'lcckeep status || true'));
    for (const machine of others)
      await run(machine, start.replace('lcckeep status', 'lcckeep status || true'));
    await shows(first, new RegExp(`owner: ${first.address}`));
    for (const { address } of others) await shows(first, new RegExp(`standby: ${address}, has all`));
    first.kill();
    const [second, third] = others as [Machine, Machine];
    const status = await shows(second, new RegExp(`owner: (?:${second.address}|${third.address}),`));
    const owner = status.includes(`owner: ${second.address}`) ? second : third;
    assert.equal(await run(owner, 'lcckeep verify'), 'lcc: as the engine has it\n');
    left = [owner, owner === second ? third : second];
  });

  it('and on to two homes, with what is left of the machines, and a provider goes to the second', async () => {
    const of = (shard: number, line: string) =>
      `export LCC_HOME=/var/lib/lcc/${shard} LCC_CONFIG=/var/lib/lcc/${shard}/lcc.toml\n${line}`;
    const beside = block('disable --now lccd');
    const [before, owner] = left;
    await run(owner, beside);
    await shows(before, new RegExp(`standby: ${owner.address}, has all`));
    await run(before, 'lcckeep release');
    await run(before, beside);
    await shows(owner, new RegExp(`owner: ${owner.address}`), of(0, 'lcckeep status'));
    const joining = `(${block('lccmap join')}) >&2 && echo joined || true`;
    await until('the map has the provider', async () => (await run(owner, joining)) === 'joined\n');

    for (const machine of left) await run(machine, block("sed 's/^\\[cluster"));
    await run(
      before,
      block('lcckeep init --user=lcc_admin --password-file=/etc/lcc/engine.admin\nsystemctl enable'),
    );
    await run(owner, 'systemctl enable --now lccd@1');
    await shows(before, /owner: [^]*lcc: shipment \d+, base/, of(1, 'lcckeep status'));
    assert.match(await run(before, block('lccmap add-shard 1')), /^1\t\S+\t0\t0\tyes$/m);
    for (const machine of left) {
      writeFileSync(join(place(machine), 'etc/lcc/front.toml'), here(block('[fe]'), machine));
      await run(machine, 'systemctl enable --now lccd-fe');
    }
    const deliver = (machine: Machine, page: string) =>
      until(`a front end takes ${page}`, async () => {
        const line = `lcccp -q --uns=tls:${machine.address}:9000 --cafile=/etc/lcc/machines.pem --pid=1 --pwd=${password} --urlprefix=http://www.example.org/`;
        const text = `echo '<url curl="http://www.example.org/${page}" mimetype="text/html"/>' | ${line} && echo accepted || true`;
        return (await run(machine, text)) === 'accepted\n';
      });
    await deliver(owner, 'a.html');
    await run(owner, block('lccmap move --pid=1'));
    await deliver(before, 'b.html');
    await shows(owner, /^home 1, owned by [\d.]+$/m, of(0, 'lccmap where 1'));
    await deliver(owner, 'c.html');
    assert.equal(await run(owner, of(0, 'lccq --all --format=urls')), '');
  });
});
