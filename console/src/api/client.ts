// Requests to the API: JSON in and out, and every failure as one kind of error that says what a person can do.
import { giving_way_to_stops } from './connections.ts';
import { learn_from_answer } from './server_clock.ts';
import { note_sign_of_life } from './sign_of_life.ts';
import type { Problem } from './types.ts';

export class ApiError extends Error {
  readonly status: number; // 0 = no answer at all
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

const no_answer = 'quelld does not answer.';
const unknown_outcome = 'Whether this has reached it is not known: look before you try again.';

/** Called when the session is over, whoever notices first. */
let on_signed_out: () => void = () => {};
export function when_signed_out(act: () => void): void {
  on_signed_out = act;
}

export async function error_of(answer: Response): Promise<ApiError> {
  try {
    const problem = (await answer.json()) as Problem;
    const fields = (problem.errors ?? []).map((e) => `${e.pointer} ${e.message}`).join('; ');
    return new ApiError(answer.status, problem.code, problem.detail || fields || problem.title);
  } catch {
    return new ApiError(answer.status, 'no_problem', `The server answered ${answer.status} without saying why.`);
  }
}

export async function send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  const asked_at = Date.now();
  try {
    answer = await fetch(path, { method, credentials: 'same-origin', ...init });
  } catch (error) {
    if (error instanceof DOMException) throw error; // aborted, or too late
    throw new ApiError(0, 'unreachable', method === 'GET' ? no_answer : `${no_answer} ${unknown_outcome}`);
  }
  note_sign_of_life();
  learn_from_answer(answer, asked_at);
  if (answer.ok) return answer;
  const problem = await error_of(answer);
  if (answer.status === 401 && path !== '/v1/sessions') on_signed_out();
  throw problem;
}

/** A frozen quelld takes connections and says nothing: such a request ends after this long, as if there were none. */
const patience_ms = 30_000;

async function within_patience<T>(until: AbortSignal, silent_words: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const mine = new AbortController();
  const end = () => mine.abort();
  const limit = setTimeout(end, patience_ms);
  until.addEventListener('abort', end);
  if (until.aborted) end();
  try {
    return await ask(mine.signal);
  } catch (error) {
    throw mine.signal.aborted && !until.aborted ? new ApiError(0, 'silent', silent_words) : error;
  } finally {
    clearTimeout(limit);
    until.removeEventListener('abort', end);
  }
}

/** A request that changes nothing: it gives way to a stop, and is asked again behind it. */
export function look<T>(ask: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
  return giving_way_to_stops((until) => within_patience(until, no_answer, ask), signal);
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return look(async (until) => (await (await send('GET', path, { signal: until })).json()) as T, signal);
}

export function get_text(path: string): Promise<string> {
  return look(async (until) => (await send('GET', path, { signal: until })).text());
}

/** An action, sent once. A frozen quelld may still do it when it goes on: the person is told so, and may press again. With a signal in `init` it is the caller who waits as long. */
function act<T>(init: RequestInit, ask: (init: RequestInit) => Promise<T>): Promise<T> {
  return init.signal ? ask(init) : within_patience(new AbortController().signal, `${no_answer} ${unknown_outcome}`, (signal) => ask({ ...init, signal }));
}

export function post<T>(path: string, body: object, init: RequestInit = {}): Promise<T> {
  const whole = { headers: { 'Content-Type': 'application/json', 'Quell-Channel': 'console' }, body: JSON.stringify(body), ...init };
  return act(whole, async (one) => (await (await send('POST', path, one)).json()) as T);
}

export function remove(path: string): Promise<void> {
  return act({}, async (one) => void (await send('DELETE', path, one)));
}

/** What an error says, for people. */
export function words_of(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** No answer, half of one, load, or a fault of the server: asked again, it may go better. What quelld has refused stays refused. */
export function may_pass(error: unknown): boolean {
  if (error instanceof DOMException) return false; // ended by whoever asked
  return !(error instanceof ApiError) || error.status < 400 || error.status >= 500 || error.status === 408 || error.status === 429;
}

/** The same for what is asked again by itself until there is an answer (`state/again.ts`, or its own timer); only such a request may say so. */
export function words_of_repeated(error: unknown): string {
  if (!may_pass(error)) return words_of(error);
  const words = error instanceof ApiError ? (error.status === 0 ? no_answer : words_of(error)) : 'The answer broke off.';
  return `${words}${/[.!?]$/.test(words) ? '' : '.'} It is asked again by itself.`;
}
