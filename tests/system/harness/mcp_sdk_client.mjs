// The official MCP client against `quell mcp`: mcp_sdk_client.mjs FOLDER-WITH-NODE_MODULES QUELL SCOPE. Prints one JSON line a step.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [home, quell, scope] = process.argv.slice(2);
const require = createRequire(join(home, 'here.js'));
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');

const say = (step, data) => console.log(JSON.stringify({ step, ...data }));
const transport = new StdioClientTransport({ command: quell, args: ['mcp', '--scope', scope], env: process.env, stderr: 'ignore' });
const client = new Client({ name: 'official', version: '1' });
client.onclose = () => say('closed', {});
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const stay = ['sh', '-c', 'while :; do sleep 1000; done'];

await client.connect(transport);
say('connected', { server: client.getServerVersion(), instructions: client.getInstructions() });
say('tools', { tools: (await client.listTools()).tools });
const done = await call('quell_run', { command: ['sh', '-c', 'echo from the sdk'], wait_ms: 30000 });
say('ran', { result: done });
let output; // it has its own socket, and can arrive after the end
do output = await call('quell_output', { id: done.structuredContent.id });
while (!output.structuredContent.end);
say('output', { result: output });
say('wrong', { result: await call('quell_run', { command: 'ls' }) });

const gone = new AbortController();
const given_up = call('quell_run', { command: stay, title: 'given up', wait_ms: 55000 }, { signal: gone.signal }).catch((e) => e);
process.stdin.setEncoding('utf8');
for await (const line of process.stdin) {
  const word = line.trim();
  if (word === 'abort') {
    gone.abort('the user pressed escape');
    await given_up;
    say('aborted', { left: (await call('quell_list', { status: 'live' })).structuredContent.operations.length });
  } else if (word === 'wait') {
    const open = call('quell_run', { command: stay, title: 'waits', wait_ms: 55000 });
    say('waiting', {});
    say('stopped', { result: await open });
  }
}
