import { RS_FIGURES } from '../rs/figures.js';
import { DEFAULT_OPERATOR_PORT } from '../rs/operator/endpoints.js';
import { DEFAULT_RS_PORT, startRs } from '../rs/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, settingOption } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-rs',
  summary: 'Registration Server: sites prove that they are theirs, and become providers.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      sets: 'rs.listen',
      help: `where applicants connect; may be repeated (rs.listen; port ${DEFAULT_RS_PORT})`,
      repeat: true,
    },
    {
      flags: '--operator-listen <ENDPOINT>',
      sets: 'rs.operator_listen',
      help: `where operators connect, loopback or unix:/path; may be repeated (rs.operator_listen; port ${DEFAULT_OPERATOR_PORT})`,
      repeat: true,
    },
    settingOption('--uns <ENDPOINT>', 'rs.uns', 'where providers are told to deliver to'),
    {
      flags: '--allow-address <CIDR>',
      sets: 'bot.allow_addresses',
      help: 'network that sites may be in although it is not public; may be repeated (bot.allow_addresses)',
      repeat: true,
    },
    CONFIG_OPTION,
  ],
  example: 'lccd-rs --listen=tls:0.0.0.0:9080',
  run: context =>
    runAsDaemon(context, { metrics: { listen: 'rs.metrics_listen', figures: RS_FIGURES }, start: startRs }),
};
