// Web servers of the demo of cache clearing: rails that keep pages of a site as files, and a load balancer, all nginx.
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, show } from './scene.mjs';

const START_TIMEOUT_MS = 10_000;
const READ_PAUSE_MS = 20;

/** Of one nginx: `folder` below the directory of the scene, with its configuration and all that it writes. */
export class Nginx {
  #scene;
  #server;

  constructor(scene, folder, port) {
    this.#scene = scene;
    this.folder = folder;
    this.port = port;
    this.url = `http://127.0.0.1:${port}/`;
    mkdirSync(join(scene.dir, folder, 'pages'), { recursive: true });
  }

  write(name, content) {
    writeFileSync(join(this.#scene.dir, this.folder, name), content);
  }

  get #line() {
    return `nginx -p ${this.folder} -e error.log -c nginx.conf`;
  }

  /** Ends when it listens. @throws Error when it has ended, or does not listen in time */
  async start() {
    show(`${this.#line} &`);
    const server = this.#scene.start('nginx', this.#line.split(' ').slice(1), `${this.folder}.log`);
    this.#server = server;
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (; !(await answers(this.port)); await delay(10)) {
      if (server.error?.code === 'ENOENT')
        throw new Error(
          'nginx is not there: install it (Debian: apt install nginx-light) and run this again',
        );
      if (!isAlive(server)) throw new Error(`${this.folder}: nginx has ended:`);
      if (Date.now() > deadline)
        throw new Error(`${this.folder}: nginx does not listen on port ${this.port}`);
    }
  }

  async stop() {
    this.#server.isExpected = true;
    const exited = once(this.#server.child, 'exit');
    await this.#scene.sh(`${this.#line} -s quit`);
    await exited;
  }
}

/** A rail: what it does not have as a file it gets from the site, and keeps; a name with a timestamp is that of the page without. */
export function makeRail(scene, name, port, site, password) {
  const rail = new Nginx(scene, name, port);
  rail.write('passwords', `cachebot:{PLAIN}${password}\n`);
  rail.write(
    'nginx.conf',
    configOf(`
  server {
    listen 127.0.0.1:${port};
    root pages;
    location / {
      dav_methods PUT DELETE;
      create_full_put_path on;
      limit_except GET { auth_basic "LCC"; auth_basic_user_file passwords; }
      error_page 404 = @site;
    }
    location @site {
      if ($request_method !~ ^(GET|HEAD)$) { return 404; }
      set $page $uri;
      if ($uri ~ "^(.+)-\\d{17}(\\.html)$") { set $page $1$2; }
      proxy_pass ${site}$page;
      proxy_store on;
    }
  }`),
  );
  return rail;
}

/** A load balancer; those of its rails that get readers are in the file `rails.conf`. */
export function makeBalancer(scene, port, rails) {
  const balancer = new Nginx(scene, 'balancer', port);
  balancer.write('rails.conf', rails.map(rail => `server 127.0.0.1:${rail.port};\n`).join(''));
  balancer.write(
    'nginx.conf',
    configOf(`
  upstream rails { include rails.conf; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://rails; limit_except GET { deny all; } }
  }`),
  );
  return balancer;
}

function configOf(servers) {
  return `${process.getuid() === 0 ? 'user root;\n' : ''}daemon off;
worker_processes 1;
pid pid;
events {}
http {
  access_log off;
  types { text/html html; }
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;${servers}
}
`;
}

/** The text of a page, as a reader gets it. */
export async function read(url) {
  const request = get(url, { agent: false, timeout: START_TIMEOUT_MS });
  request.on('timeout', () => request.destroy(new Error(`${url}: no answer`)));
  const [answer] = await once(request, 'response');
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += piece;
  return answer.statusCode === 200 ? text.trim() : `(status ${answer.statusCode})`;
}

/** Reads a page again and again. */
export class Reader {
  #counts = new Map();
  #isOver = false;
  #ended;

  constructor(url) {
    this.#ended = this.#readAll(url);
    // It is looked at in `end`.
    this.#ended.catch(() => undefined);
  }

  /** @returns how often each text was read */
  async end() {
    this.#isOver = true;
    await this.#ended;
    return this.#counts;
  }

  async #readAll(url) {
    for (; !this.#isOver; await delay(READ_PAUSE_MS)) {
      const text = await read(url);
      this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
    }
  }
}

/** A page as it lies on a rail; undefined when it is not there. */
export function fileOn(scene, rail, page) {
  try {
    return readFileSync(join(scene.dir, rail.folder, 'pages', page), 'utf8').trim();
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function answers(port) {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
