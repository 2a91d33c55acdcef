// Public clients against quelld's OpenAI endpoint and UI message stream: openai_clients.mjs FOLDER-WITH-NODE_MODULES URL TOKEN.
// Commands as JSON lines on standard input, one JSON line for each thing that happens.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [home, url, token] = process.argv.slice(2);
const require = createRequire(join(home, 'here.js'));
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const { default: OpenAI } = await load('openai');
const { AbstractChat, DefaultChatTransport, generateText, streamText } = await load('ai');
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');

const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const openai = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: token });
const provider = createOpenAICompatible({ name: 'quell', baseURL: `${url}/openai/v1`, apiKey: token, includeUsage: true });
const controllers = {};

const failed = (name, error) => say('failed', { name, kind: error.name ?? error.constructor.name, status: error.status ?? error.statusCode ?? null, code: error.code ?? null, type: error.type ?? null, message: String(error.message) });

/// What useChat holds, without a page: its state is told with every change.
class Page extends AbstractChat {
  constructor(name, body, id, messages = []) {
    const state = {
      status: 'ready', error: undefined, messages,
      pushMessage: (m) => { state.messages.push(m); },
      popMessage: () => { state.messages.pop(); },
      replaceMessage: (i, m) => { state.messages[i] = m; say('parts', { name, parts: m.parts }); },
      snapshot: (x) => structuredClone(x),
    };
    const transport = new DefaultChatTransport({ api: `${url}/v1/ui/chat`, headers: { Authorization: `Bearer ${token}` }, body });
    super({ id, state, transport, onError: (e) => failed(name, e), onFinish: ({ message, isAbort, isError }) => say('finished', { name, message, isAbort, isError }) });
  }
}
const pages = {};

const commands = {
  async models() {
    const list = [];
    for await (const m of openai.models.list()) list.push(m.id);
    say('models', { list });
  },
  async whole({ name, body, headers }) {
    const controller = (controllers[name] = new AbortController());
    const { data, response } = await openai.chat.completions.create(body, { signal: controller.signal, headers }).withResponse();
    say('whole', { name, answer: data, scope: response.headers.get('x-quell-scope'), turn: response.headers.get('x-quell-turn') });
  },
  async stream({ name, body, headers }) {
    const controller = (controllers[name] = new AbortController());
    const { data, response } = await openai.chat.completions.create({ ...body, stream: true }, { signal: controller.signal, headers }).withResponse();
    say('begun', { name, scope: response.headers.get('x-quell-scope'), turn: response.headers.get('x-quell-turn') });
    for await (const chunk of data) say('chunk', { name, chunk });
    say('over', { name });
  },
  async generate({ name, prompt }) {
    const done = await generateText({ model: provider('main'), prompt });
    say('generated', { name, text: done.text, reason: done.finishReason, usage: done.usage });
  },
  async text({ name, prompt }) {
    const controller = (controllers[name] = new AbortController());
    const stream = streamText({ model: provider('main'), prompt, abortSignal: controller.signal, onError: ({ error }) => failed(name, error) });
    for await (const delta of stream.textStream) say('delta', { name, delta });
    say('over', { name });
  },
  async page({ name, text, body, id }) {
    pages[name] ??= new Page(name, body, id);
    await pages[name].sendMessage({ text });
    say('sent', { name, status: pages[name].status, messages: pages[name].messages });
  },
  /// The page of `of` is loaded again, with the messages that it kept.
  async resume({ name, of, body, kept }) {
    pages[name] = new Page(name, body, pages[of].id, structuredClone(pages[of].messages.slice(0, kept)));
    await pages[name].resumeStream();
    say('resumed', { name, status: pages[name].status, messages: pages[name].messages });
  },
  async edit({ name, at, text }) {
    await pages[name].sendMessage({ text, messageId: pages[name].messages[at].id });
    say('edited', { name, status: pages[name].status, messages: pages[name].messages });
  },
  async regenerate({ name, at }) {
    await pages[name].regenerate(at === undefined ? {} : { messageId: pages[name].messages[at].id });
    say('regenerated', { name, status: pages[name].status, messages: pages[name].messages });
  },
  async stop({ name }) {
    if (pages[name]) await pages[name].stop();
    controllers[name]?.abort();
    say('stopped', { name });
  },
};

say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { run, ...rest } = JSON.parse(line);
  commands[run](rest).catch((error) => failed(rest.name, error));
}
