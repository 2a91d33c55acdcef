// Who is signed in, and what the role may do (docs/api.md). The page holds no token: the cookie is not for scripts.
import { computed, signal } from '@preact/signals';
import { ApiError, get, post, send, when_signed_out, words_of } from '../api/client.ts';
import { close_feed, open_feed } from '../api/feed.ts';
import type { Session } from '../api/types.ts';
import { not_signed_out_words } from '../model/sign_out.ts';

export const session = signal<Session | null>(null);
export const session_state = signal<'looking' | 'out' | 'in' | 'no_answer'>('looking');
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
  run_cluster: computed(() => role.value === 'admin' && session.value?.scope === null),
};

function signed_in(as: Session): void {
  session.value = as;
  sign_in_trouble.value = '';
  if (session_state.value !== 'in') {
    session_state.value = 'in';
    is_approver.value = false;
    void look_for_approver();
    open_feed();
  }
}

function signed_out(): void {
  close_feed();
  session.value = null;
  sign_out_trouble.value = '';
  session_state.value = 'out';
}

async function look(): Promise<void> {
  try {
    signed_in(await get<Session>('/v1/sessions/current'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return signed_out();
    if (session_state.value !== 'in') session_state.value = 'no_answer';
    setTimeout(() => void look(), retry_ms);
  }
}

export async function sign_in(by: { token: string } | { link: string }): Promise<void> {
  try {
    signed_in(await post<Session>('/v1/sessions', by));
  } catch (error) {
    sign_in_trouble.value = words_of(error);
    if (session_state.value !== 'in') session_state.value = 'out';
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
export async function begin_session(): Promise<void> {
  when_signed_out(() => session_state.value === 'in' && signed_out());
  setInterval(() => session_state.value === 'in' && void look(), renewal_ms);
  const link = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
  if (link) await sign_in({ link });
  if (session_state.value !== 'in') {
    const trouble = sign_in_trouble.value;
    await look();
    if (session.value === null) sign_in_trouble.value = trouble;
  }
}
