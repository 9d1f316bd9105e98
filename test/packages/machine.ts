/**
 * A Debian machine without Node: this one's files, seen through a layer that takes what is written, with processes and a network (the
 * loopback) of its own. All of it goes when it is removed.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/tree.js';

const NEW = ['--mount', '--net', '--pid', '--fork', '--kill-child'];

/** Why there can be none here. */
export function noMachine(): string | false {
  if (process.env['CI'] === 'true') return false;
  if (process.getuid?.() !== 0) return 'namespaces take root';
  const missing = ['apt-get', 'systemd-sysusers', 'setpriv', 'python3', 'ip'].find(
    tool => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0,
  );
  return missing !== undefined && `${missing} is not installed`;
}

export class Machine {
  readonly #dir = mkdtempSync(join(tmpdir(), 'lcc-machine-'));
  readonly root = join(this.#dir, 'layer/root');
  readonly #world: ChildProcess;
  #pid = 0;

  private constructor(packages: string) {
    mkdirSync(join(this.#dir, 'layer'));
    const script = `set -e
      mount --make-rprivate /
      cd ${this.#dir}/layer
      mount -t tmpfs tmpfs . && cd . && cd ${this.#dir}/layer
      mkdir upper work root
      mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
      mount --rbind /dev root/dev
      for folder in run tmp ${ROOT.replace(/^\//, '')}; do mkdir -p root/$folder; mount -t tmpfs tmpfs root/$folder; done
      chmod 1777 root/tmp
      rm -f root/usr/bin/node root/usr/local/bin/node root/usr/sbin/policy-rc.d
      mkdir root/packages && mount --bind ${packages} root/packages
      ip link set lo up
      mount -t proc proc root/proc
      echo ready
      exec cat`;
    this.#world = spawn('unshare', [...NEW, 'sh', '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** @param packages a folder that is /packages there */
  static async start(packages: string): Promise<Machine> {
    const machine = new Machine(packages);
    const [said] = (await once(machine.#world.stdout ?? assert.fail(), 'data')) as [Buffer];
    assert.equal(said.toString(), 'ready\n');
    const children = readFileSync(`/proc/${machine.#world.pid}/task/${machine.#world.pid}/children`, 'utf8');
    machine.#pid = Number(children.trim().split(' ')[0]);
    assert.notEqual(machine.sh('command -v node').status, 0, 'there is no Node');
    return machine;
  }

  /** A line of a shell there, as root. */
  sh(line: string, env: NodeJS.ProcessEnv = {}) {
    return spawnSync(
      'nsenter',
      [
        `--target=${this.#pid}`,
        '--mount',
        '--net',
        '--pid',
        'chroot',
        this.root,
        'bash',
        '-o',
        'pipefail',
        '-c',
        line,
      ],
      {
        env: {
          PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          HOME: '/var/tmp',
          LANG: 'C.UTF-8',
          DEBIAN_FRONTEND: 'noninteractive',
          ...env,
        },
        encoding: 'utf8',
        maxBuffer: 1 << 26,
        cwd: '/',
      },
    );
  }

  /** The same; it must succeed. @returns what it prints */
  does(line: string, env: NodeJS.ProcessEnv = {}): string {
    const { status, stdout, stderr } = this.sh(line, env);
    assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
    return stdout;
  }

  /** A file there. */
  write(path: string, text: string, mode = 0o644): void {
    const { status, stderr } = spawnSync(
      'nsenter',
      [
        `--target=${this.#pid}`,
        '--mount',
        'chroot',
        this.root,
        'sh',
        '-c',
        'mkdir -p "${1%/*}" && cat >"$1" && chmod "$2" "$1"',
        'sh',
        path,
        mode.toString(8),
      ],
      { input: text, encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
  }

  /** In the place of systemd: starts and stops services as their units say, and says so in /run/units.log. */
  bringUnits(): void {
    this.does('mkdir -p /run/systemd/system');
    // Where apt has dpkg look for them.
    for (const name of ['systemctl', 'deb-systemd-invoke']) {
      this.does(`rm -f /usr/bin/${name}`);
      this.write(`/usr/bin/${name}`, UNITS, 0o755);
    }
  }

  async remove(): Promise<void> {
    const gone = once(this.#world, 'exit');
    this.#world.stdin?.end();
    await gone;
    rmSync(this.#dir, { recursive: true });
  }
}

/** What of systemctl(1) and deb-systemd-invoke(1) maintainer scripts use. A service is up when it says so to NOTIFY_SOCKET. */
const UNITS = `#!/usr/bin/python3
import os, re, signal, socket, subprocess, sys, time
words = [word for word in sys.argv[1:] if not word.startswith('-')]
verb, units = words[0], [unit.removesuffix('.service') for unit in words[1:]]
def values(unit, key):
    for folder in ('/etc/systemd/system', '/lib/systemd/system'):
        path = f'{folder}/{unit}.service'
        if os.path.exists(path): return re.findall(f'^{key}=(.*)$', open(path).read(), re.M)
    sys.exit(f'no unit {unit}')
def pid_of(unit):
    try:
        pid = int(open(f'/run/{unit}.pid').read())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError): return None
def log(text): open('/run/units.log', 'a').write(text + '\\n')
def start(unit):
    if pid_of(unit): return
    one = lambda key: values(unit, key)[0]
    notify = f'/run/{unit}.notify'
    if os.path.exists(notify): os.remove(notify)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(notify)
    os.chmod(notify, 0o666)
    listener.settimeout(0.2)
    env = {'PATH': '/usr/sbin:/usr/bin', 'NOTIFY_SOCKET': notify}
    for line in values(unit, 'Environment'): env.update(pair.split('=', 1) for pair in line.split())
    groups = [name for line in values(unit, 'SupplementaryGroups') for name in line.split()]
    how = ['setpriv', '--reuid=' + one('User'), '--regid=' + one('Group'), '--groups=' + ','.join(groups) if groups else '--init-groups', '--no-new-privs', '--bounding-set=-all']
    child = subprocess.Popen(['setsid'] + how + one('ExecStart').split(), env=env, umask=int(one('UMask'), 8), cwd='/', stdin=subprocess.DEVNULL,
                             stdout=open(f'/run/{unit}.log', 'a'), stderr=subprocess.STDOUT)
    open(f'/run/{unit}.pid', 'w').write(str(child.pid))
    said = b''
    while b'READY=1' not in said:
        if child.poll() is not None: sys.exit(f'{unit} has ended: ' + open(f'/run/{unit}.log').read()[-2000:])
        try: said = listener.recv(4096)
        except TimeoutError: pass
    log(f'start {unit}')
def stop(unit):
    pid = pid_of(unit)
    if not pid: return
    os.kill(pid, signal.SIGTERM)
    while True:
        try:
            if open(f'/proc/{pid}/stat').read().split(') ')[1][0] == 'Z': break
        except OSError: break
        time.sleep(0.02)
    os.remove(f'/run/{unit}.pid')
    log(f'stop {unit}')
if verb == 'is-active': sys.exit(0 if pid_of(units[0]) else 3)
elif verb == 'start': [start(unit) for unit in units]
elif verb == 'stop': [stop(unit) for unit in units]
elif verb != 'daemon-reload': sys.exit(f'verb {verb}')
`;
