// The public SDK of A2A against quelld: a2a_client.mjs FOLDER-WITH-NODE_MODULES URL TOKEN. Commands as JSON lines on standard input, one JSON
// line for each thing that happens.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [home, url, token] = process.argv.slice(2);
const require = createRequire(join(home, 'here.js'));
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const { CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task, Message } = await load('@a2a-js/sdk');
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load('@a2a-js/sdk/client');

const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const fetchImpl = (at, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return fetch(at, { ...init, headers });
};
const clients = {};
const client = async (binding) =>
  (clients[binding] ??= await new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  ).createFromUrl(`${url}/a2a/main/`, '.well-known/agent-card.json'));
const controllers = {};

const request = ({ id, text, context, task, now }) =>
  SendMessageRequest.fromJSON({
    message: { messageId: id, role: 'ROLE_USER', parts: [{ text }], contextId: context ?? '', taskId: task ?? '' },
    configuration: { returnImmediately: now ?? false },
  });
const shown = (result) => ('status' in result ? Task.toJSON(result) : Message.toJSON(result));

async function follow(name, stream) {
  for await (const event of stream) say('event', { name, event: StreamResponse.toJSON(event) });
  say('over', { name });
}

const commands = {
  async send({ name, binding, ...rest }) {
    say('sent', { name, result: shown(await (await client(binding)).sendMessage(request(rest))) });
  },
  async stream({ name, binding, ...rest }) {
    const { signal } = (controllers[name] = new AbortController());
    await follow(name, (await client(binding)).sendMessageStream(request(rest), { signal }));
  },
  async subscribe({ name, binding, task }) {
    await follow(name, (await client(binding)).resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task })));
  },
  async get({ name, binding, task }) {
    say('task', { name, result: Task.toJSON(await (await client(binding)).getTask(GetTaskRequest.fromJSON({ id: task }))) });
  },
  async cancel({ name, binding, task }) {
    say('cancelled', { name, result: Task.toJSON(await (await client(binding)).cancelTask(CancelTaskRequest.fromJSON({ id: task }))) });
  },
  async list({ name, binding, ...rest }) {
    const { tasks, nextPageToken } = await (await client(binding)).listTasks(ListTasksRequest.fromJSON(rest));
    say('list', { name, tasks: tasks.map(Task.toJSON), next: nextPageToken });
  },
  async drop({ name }) {
    controllers[name].abort();
  },
};

say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { run, ...rest } = JSON.parse(line);
  commands[run](rest).catch((error) => say('failed', { name: rest.name, kind: error.name ?? error.constructor.name, message: String(error.message) }));
}
