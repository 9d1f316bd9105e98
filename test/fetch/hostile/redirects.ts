/** Redirects that lead nowhere, or where nobody may go. */
import { answer, drip } from '../support.js';
import { say, type HostileCase } from './saying.js';

const redirect = (...lines: string[]) =>
  say(`HTTP/1.1 302 Found\r\nContent-Length: 0\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`, false);

export const REDIRECTS: HostileCase[] = [
  {
    name: 'endless redirects',
    serve: (socket, _request, nth) => redirect(`Location: /${nth}`)(socket, '', nth),
    expect: 608,
  },
  {
    name: 'a redirect cycle of two',
    serve: (socket, request) =>
      redirect(`Location: ${request.startsWith('GET /b') ? '/a' : '/b'}`)(socket, '', 1),
    expect: 608,
  },
  { name: 'a redirect to itself', serve: redirect('Location: /'), expect: 608 },
  { name: 'a redirect to itself, fragment apart', serve: redirect('Location: /#x'), expect: 608 },
  { name: 'a redirect without Location', serve: redirect(), expect: 611 },
  { name: 'a redirect with an empty Location', serve: redirect('Location: '), expect: 611 },
  {
    name: 'a redirect with two different Locations',
    serve: redirect('Location: /a', 'Location: /b'),
    expect: 611,
  },
  { name: 'a redirect to nonsense', serve: redirect('Location: http://[::g]:99999/'), expect: 611 },
  {
    name: 'a redirect to a UTF-8 path',
    serve: (socket, request) =>
      request.startsWith('GET /caf%C3%A9 ')
        ? socket.write(answer('found'))
        : redirect(`Location: ${Buffer.from('/café').toString('latin1')}`)(socket, '', 1),
    expect: 'ok',
  },
  { name: 'a redirect to file:', serve: redirect('Location: file:///etc/passwd'), expect: 609 },
  { name: 'a redirect to gopher:', serve: redirect('Location: gopher://127.0.0.1/'), expect: 609 },
  { name: 'a redirect with a password', serve: redirect('Location: http://u:p@127.0.0.1/'), expect: 609 },
  {
    name: 'a redirect to a private address',
    serve: redirect('Location: http://192.168.1.1/'),
    expect: 610,
  },
  {
    name: 'a redirect to the metadata service',
    serve: redirect('Location: http://169.254.169.254/'),
    expect: 610,
  },
  {
    name: 'a redirect whose body drips for ever',
    serve: socket => {
      socket.write('HTTP/1.1 302 Found\r\nLocation: ftp://x/\r\nContent-Length: 9999\r\n\r\n');
      drip(socket, 'x');
    },
    expect: 609,
  },
];
