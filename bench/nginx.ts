/** nginx as a site: one worker, nothing logged, connections kept as long as a client wants. */
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/**
 * Resolves when it listens.
 * @param dir for its files; its pages are for `servers` to name
 * @param servers `server { … }`, one of them on `port` of 127.0.0.1
 */
export async function startNginx(dir: string, servers: string, port: number): Promise<ChildProcess> {
  const config = join(dir, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; keepalive_requests 1000000; types { text/html html; }
  client_body_temp_path ${dir}/t1; proxy_temp_path ${dir}/t2; fastcgi_temp_path ${dir}/t3;
  uwsgi_temp_path ${dir}/t4; scgi_temp_path ${dir}/t5;
  ${servers}
}
`,
  );
  const nginx = spawn('nginx', ['-c', config, '-e', `${dir}/nginx.log`], { stdio: 'inherit' });
  for (let tries = 0; ; tries++) {
    const open = await new Promise<boolean>(resolve => {
      const probe = connect(port, '127.0.0.1', () => {
        probe.destroy();
        resolve(true);
      });
      probe.on('error', () => resolve(false));
    });
    if (open) return nginx;
    if (tries > 100 || nginx.exitCode !== null) throw new Error('nginx does not start');
    await new Promise(resolve => void setTimeout(resolve, 50));
  }
}
