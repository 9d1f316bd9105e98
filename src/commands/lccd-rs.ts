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
    settingOption(
      '--listen <ENDPOINT>',
      'rs.listen',
      'where applicants connect',
      `; port ${DEFAULT_RS_PORT}`,
    ),
    settingOption(
      '--operator-listen <ENDPOINT>',
      'rs.operator_listen',
      'where operators connect, loopback or unix:/path',
      `; port ${DEFAULT_OPERATOR_PORT}`,
    ),
    settingOption('--uns <ENDPOINT>', 'rs.uns', 'where providers are told to deliver to'),
    settingOption(
      '--allow-address <CIDR>',
      'bot.allow_addresses',
      'network that sites may be in although it is not public',
    ),
    CONFIG_OPTION,
  ],
  example: 'lccd-rs --listen=tls:0.0.0.0:9080',
  run: context =>
    runAsDaemon(context, { metrics: { listen: 'rs.metrics_listen', figures: RS_FIGURES }, start: startRs }),
};
