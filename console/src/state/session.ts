// Who is signed in, and what the role may do (docs/api.md). The page holds no token: the cookie is not for scripts.
import { computed, signal } from '@preact/signals';
import { ApiError, get, post, send, when_signed_out, words_of } from '../api/client.ts';
import { close_feed, open_feed } from '../api/feed.ts';
import type { Session } from '../api/types.ts';
import { is_same_identity } from '../model/identity.ts';
import { link_in, type SignIn } from '../model/sign_in.ts';
import { not_signed_out_words } from '../model/sign_out.ts';

export const session = signal<Session | null>(null);
/** changed: another tab has signed in `other_session`, which the cookie of this browser stands for by now; this page still shows what `session` may see. */
export const session_state = signal<'looking' | 'out' | 'in' | 'no_answer' | 'changed'>('looking');
export const other_session = signal<Session | null>(null);
/** Grows each time that somebody comes in: views of whoever was here before begin anew. */
export const visits = signal(0);
export const sign_in_trouble = signal('');
/** Why a sign-out was not confirmed; '' = none was asked for, or it is done. */
export const sign_out_trouble = signal('');
export const is_signing_out = signal(false);

const renewal_ms = 30 * 60_000;
const retry_ms = 1500;
const sign_out_patience_ms = 10_000;

const role = computed(() => session.value?.role ?? 'observer');
/** A token of role chat decides about calls only if the configuration names it; only those may see what stands approved. */
const is_approver = signal(false);
async function look_for_approver(): Promise<void> {
  if (role.value !== 'chat') return;
  is_approver.value = await get('/v1/approvals/rules?limit=1').then(() => true, () => false);
}

export const may = {
  cancel: computed(() => role.value !== 'observer'),
  converse: computed(() => role.value === 'chat' || role.value === 'operator' || role.value === 'admin'),
  decide: computed(() => role.value === 'operator' || role.value === 'admin' || (role.value === 'chat' && is_approver.value)),
  cancel_everything: computed(() => role.value === 'operator' || role.value === 'admin'),
  administer: computed(() => role.value === 'admin'),
  /** Charts beside the figures of one scope would be of something else: of the whole cluster. */
  measure_cluster: computed(() => session.value?.scope === null),
  run_cluster: computed(() => role.value === 'admin' && session.value?.scope === null),
};

/** Whether a scope lies inside the rights of who is signed in; '' = no scope is named. */
export function is_within(scope: string): boolean {
  const own = session.value?.scope ?? '';
  return own === '' || scope === '' || scope === own || scope.startsWith(`${own}/`);
}

/** Says to the other tabs who is signed in now; null = nobody is, as far as this one knows. */
const other_tabs = new BroadcastChannel('quell-session');
other_tabs.onmessage = ({ data }: { data: Session | null }) => {
  if (session_state.value === 'out') return;
  if (data && session.value) take(data);
  else void look();
};

function signed_in(as: Session): void {
  session.value = as;
  other_session.value = null;
  sign_in_trouble.value = '';
  if (session_state.value !== 'in') {
    visits.value += 1;
    session_state.value = 'in';
    is_approver.value = false;
    void look_for_approver();
    open_feed();
  }
}

function signed_out(): void {
  newest_look += 1;
  close_feed();
  session.value = null;
  other_session.value = null;
  sign_out_trouble.value = '';
  session_state.value = 'out';
}

/** Whom the cookie stands for now. If it is not who looks at this page, nothing more is asked or sent in the name of either. */
function take(now: Session): void {
  newest_look += 1;
  if (session.value === null || is_same_identity(session.value, now)) return signed_in(now);
  close_feed();
  other_session.value = now;
  sign_out_trouble.value = '';
  session_state.value = 'changed';
}

/** The person has read who is signed in now: the page begins anew with that. */
export function go_on_as_other(): void {
  if (other_session.value) signed_in(other_session.value);
}

/** An older look, and one that was overtaken by a sign-in or sign-out, says nothing. */
let newest_look = 0;

async function look(): Promise<void> {
  const mine = ++newest_look;
  try {
    const now = await get<Session>('/v1/sessions/current');
    if (mine === newest_look) take(now);
  } catch (error) {
    if (mine !== newest_look) return;
    if (error instanceof ApiError && error.status === 401) return signed_out();
    if (session_state.value !== 'in' && session_state.value !== 'changed') session_state.value = 'no_answer';
    setTimeout(() => mine === newest_look && void look(), retry_ms);
  }
}

/** Somebody else than whoever looks at this page now begins anew: nothing of before stays. */
export async function sign_in(by: SignIn): Promise<void> {
  try {
    const now = await post<Session>('/v1/sessions', by);
    if (session.value && !is_same_identity(session.value, now)) signed_out();
    newest_look += 1;
    signed_in(now);
    other_tabs.postMessage(now);
  } catch (error) {
    sign_in_trouble.value = words_of(error);
    if (session_state.value !== 'in' && session_state.value !== 'changed') session_state.value = 'out';
  }
}

/** Only quelld can end the session: without its answer the page stays signed in and says so. */
export async function sign_out(): Promise<void> {
  if (is_signing_out.value) return;
  is_signing_out.value = true;
  sign_out_trouble.value = '';
  try {
    await send('DELETE', '/v1/sessions/current', { signal: AbortSignal.timeout(sign_out_patience_ms) });
    signed_out();
    other_tabs.postMessage(null);
  } catch (error) {
    if (session.value === null) return; // somebody else has noticed its end meanwhile
    if (error instanceof ApiError && error.status === 401) return signed_out();
    const is_silent = !(error instanceof ApiError) || error.status === 0;
    sign_out_trouble.value = not_signed_out_words(is_silent ? 'quelld does not answer.' : words_of(error), is_silent || error.status >= 500, session.value.token);
  } finally {
    is_signing_out.value = false;
  }
}

/** A link's secret leaves the address bar, and the history, before anything else happens. */
async function take_link(): Promise<void> {
  const link = link_in(location.hash);
  if (link) sign_in_trouble.value = '';
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  if (link) await sign_in({ link });
}

export async function begin_session(): Promise<void> {
  when_signed_out(() => session_state.value === 'in' && signed_out());
  setInterval(() => session_state.value === 'in' && void look(), renewal_ms);
  // A tab that was frozen has heard nothing of the others.
  document.addEventListener('visibilitychange', () => !document.hidden && session_state.value === 'in' && void look());
  // A link that is opened in a page that is open already changes the address and loads nothing.
  addEventListener('hashchange', () => void take_link());
  await take_link();
  if (session_state.value !== 'in') {
    const trouble = sign_in_trouble.value;
    await look();
    if (session.value === null) sign_in_trouble.value = trouble;
  }
}
