// Tokens: a list, a new one whose secret is shown once, and their end.
import { useRef, useState } from 'preact/hooks';
import { post, remove, words_of } from '../api/client.ts';
import { read_newest } from '../api/pages.ts';
import { server_now } from '../api/server_clock.ts';
import type { Token } from '../api/types.ts';
import { shown } from '../model/format.ts';
import { body_of, token_of, unmade_words, type NewToken } from '../model/new_token.ts';
import { uuid7 } from '../model/uuid.ts';
import { Copy, Empty, Loading, Page, Trouble, When } from '../parts/small.tsx';
import { ask_for } from '../state/asking.ts';
import { is_refusal, may_have_arrived, why_unanswered } from '../state/delivery.ts';
import { use_many } from '../state/many.ts';
import { use_one_at_a_time } from '../state/once.ts';
import { use_resource } from '../state/resource.ts';

const roles = ['observer', 'chat', 'operator', 'admin'] as const;
const lives = [['never', 0], ['a day', 1], ['a week', 7], ['30 days', 30], ['90 days', 90]] as const;

function Create({ done }: { done: () => void }) {
  const [name, set_name] = useState('');
  const [role, set_role] = useState<(typeof roles)[number]>('observer');
  const [scope, set_scope] = useState('');
  const [days, set_days] = useState(30);
  const [made, set_made] = useState<(Token & { token: string }) | null>(null);
  const [trouble, set_trouble] = useState('');
  const { is_busy, once } = use_one_at_a_time();
  const unanswered = useRef<NewToken | null>(null);
  const create = async () => {
    const expires_at = days ? new Date(server_now() + days * 86_400_000).toISOString() : null;
    const token = token_of({ name: name.trim(), role, scope: scope.trim() || null, days, expires_at }, unanswered.current, uuid7);
    try {
      set_made(await post('/v1/tokens', body_of(token)));
      unanswered.current = null;
      set_name('');
      set_trouble('');
    } catch (error) {
      unanswered.current = is_refusal(error) ? null : token;
      set_trouble(may_have_arrived(error) ? unmade_words(why_unanswered(error)) : words_of(error));
    }
    done(); // one whose answer was lost is in the list, too
  };
  return (
    <section class="card">
      <h2>New token</h2>
      <form class="form-row" onSubmit={(e) => (e.preventDefault(), void once(create))}>
        <label class="stack">Name <input required maxLength={128} value={name} onInput={(e) => set_name(e.currentTarget.value)} /></label>
        <label class="stack">Role <select value={role} onChange={(e) => set_role(e.currentTarget.value as (typeof roles)[number])}>{roles.map((r) => <option key={r}>{r}</option>)}</select></label>
        <label class="stack">Scope <input placeholder="all" value={scope} onInput={(e) => set_scope(e.currentTarget.value)} /></label>
        <label class="stack">Ends after <select value={days} onChange={(e) => set_days(Number(e.currentTarget.value))}>{lives.map(([words, n]) => <option key={n} value={n}>{words}</option>)}</select></label>
        <button type="submit" class="button primary" disabled={is_busy}>{is_busy ? 'Creating…' : 'Create'}</button>
      </form>
      <Trouble words={trouble} />
      {made && (
        <div class="secret" role="status">
          <p>The secret of <b>{made.name}</b>. It is shown this once.</p>
          <code class="wrap">{made.token}</code>
          <div><Copy text={made.token} label="Copy" /> <button type="button" class="button quiet" onClick={() => set_made(null)}>I have it</button></div>
        </div>
      )}
    </section>
  );
}

const at_once = 500;

export function TokensView() {
  const many = use_many('tokens', at_once, (n) => n + at_once);
  const [state, reload] = use_resource('tokens', () => read_newest<Token>('/v1/tokens?order=desc', 'tokens', many.current), { every_ms: 30_000 });
  const [refused, set_refused] = useState('');
  const { value, trouble } = state.value;
  const { is_busy, once } = use_one_at_a_time();
  const revoke = async (token: Token) => {
    const is_sure = await ask_for({ title: `Revoke ${shown(token.name)}?`, words: 'Whoever uses it is refused from now on, and their sessions end.', yes: 'Revoke', is_danger: true });
    if (is_sure === null) return;
    await once(async () => {
      await remove(`/v1/tokens/${token.id}`).then(() => set_refused(''), (error) => set_refused(words_of(error)));
      reload();
    });
  };
  return (
    <Page title="Tokens">
      <Create done={reload} />
      <Trouble words={trouble || refused} retry={reload} />
      {!value && !trouble && <Loading what="tokens" />}
      {value?.rows.length === 0 && <Empty title="No tokens yet">Only the one of this installation. Give everybody who works here one of their own.</Empty>}
      {value && value.rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Table"><table>
          <thead><tr><th>Name</th><th>Role</th><th>Scope</th><th>Owner</th><th>Created</th><th>Last used</th><th>Ends</th><th><span class="hidden">Revoke</span></th></tr></thead>
          <tbody>
            {value.rows.map((t) => (
              <tr key={t.id}>
                <td>{t.name}</td><td>{t.role}</td><td>{t.scope ?? <span class="faint">all</span>}</td><td>{t.owner.name || t.owner.id}</td>
                <td><When at={t.created_at} /></td><td>{t.last_used_at ? <When at={t.last_used_at} /> : <span class="faint">never</span>}</td><td>{t.expires_at ? <When at={t.expires_at} /> : <span class="faint">never</span>}</td>
                <td class="end"><button type="button" class="button quiet" disabled={is_busy} onClick={() => void revoke(t)}>Revoke</button></td>
              </tr>
            ))}
          </tbody>
        </table></div>
      )}
      {value?.has_more && <p class="faint">The newest {value.rows.length.toLocaleString('en')}. <button type="button" class="button quiet" onClick={() => (many.grow(), reload())}>Older</button></p>}
    </Page>
  );
}
