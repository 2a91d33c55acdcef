// An editor on the official ACP SDK that talks to `quell acp`: acp_editor.mjs FOLDER-WITH-NODE_MODULES QUELL ARGUMENTS…
// Commands as JSON lines on standard input, one JSON line for each thing that happens.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [home, quell, ...words] = process.argv.slice(2);
const acp = await import(pathToFileURL(join(home, 'node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js')).href);
const { agent, client } = acp.methods;
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));

const child = spawn(quell, ['acp', ...words], { stdio: ['pipe', 'pipe', 'ignore'] });
const exited = new Promise((over) => child.on('exit', (code, signal) => { say('exit', { code, signal }); over(); }));
const questions = [], forms = [];
const taken_back = (signal, what) => signal.addEventListener('abort', () => say('taken back', { what })); // $/cancel_request

const editor = acp.client({ name: 'editor' })
  .onNotification(client.session.update, ({ params }) => say('update', params))
  .onRequest(client.session.requestPermission, ({ params, signal }) => new Promise((answer) => {
    taken_back(signal, params.toolCall.toolCallId);
    questions.push((outcome) => answer({ outcome }));
    say('permission', params);
  }))
  .onRequest(client.elicitation.create, ({ params, signal }) => new Promise((answer) => {
    taken_back(signal, params.toolCallId);
    forms.push(answer);
    say('form', params);
  }));

try {
  await editor.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
    const commands = {
      initialize: ({ capabilities = {} }) => ctx.request(agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities }),
      new: () => ctx.request(agent.session.new, { cwd: '/', mcpServers: [] }),
      load: (params) => ctx.request(agent.session.load, { cwd: '/', mcpServers: [], ...params }),
      resume: (params) => ctx.request(agent.session.resume, { cwd: '/', mcpServers: [], ...params }),
      mode: (params) => ctx.request(agent.session.setMode, params),
      prompt: ({ sessionId, text }) => ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
      close: (params) => ctx.request(agent.session.close, params),
      cancel: (params) => ctx.notify(agent.session.cancel, params),
      answer: async ({ index, outcome }) => questions[index](outcome),
      fill: async ({ index, form }) => forms[index](form),
      hang_up: async () => child.stdin.end(),
      kill: async () => child.kill('SIGKILL'),
    };
    say('ready');
    for await (const line of createInterface({ input: process.stdin })) {
      const { run, name, ...rest } = JSON.parse(line);
      Promise.resolve(commands[run](rest)).then((result) => say('done', { run, name, result: result ?? null }),
        (error) => say('failed', { run, name, code: error.code ?? null, message: String(error.message), data: error.data ?? null }));
    }
  });
  child.kill('SIGKILL');
} catch (error) { // the connection has ended before the commands
  say('ended', { message: String(error?.message ?? error) });
}
await exited;
process.exit(0);
