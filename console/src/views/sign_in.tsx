// Signing in: a link does it by itself, also when it is pasted; otherwise a token is exchanged for a session and forgotten.
import { useState } from 'preact/hooks';
import { sign_in_of } from '../model/sign_in.ts';
import { session_state, sign_in, sign_in_trouble } from '../state/session.ts';
import { Trouble } from '../parts/small.tsx';
import { StopsAside } from '../parts/stops_aside.tsx';

export function SignIn() {
  const [token, set_token] = useState('');
  const [is_sending, set_sending] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    set_sending(true);
    await sign_in(sign_in_of(token));
    set_token('');
    set_sending(false);
  };
  if (session_state.value === 'looking') return <main class="sign-in" aria-busy="true"><h1 class="hidden">quell</h1></main>;
  return (
    <main class="sign-in">
      <StopsAside can_show={false} />
      <form class="card" onSubmit={(e) => void submit(e)}>
        <img src="/icon.svg" alt="" width="40" height="40" />
        <h1>quell</h1>
        {session_state.value === 'no_answer' ? (
          <p role="status">quelld does not answer yet. It is asked again every second.</p>
        ) : (
          <>
            <p>Run <code>quell console</code> for a link that signs you in, and open it or paste it here; or give a token.</p>
            <label class="stack">Token or link <input type="password" autocomplete="off" spellcheck={false} value={token} onInput={(e) => set_token(e.currentTarget.value)} required autofocus /></label>
            <Trouble words={sign_in_trouble.value} />
            <button class="button primary" type="submit" disabled={is_sending || !token.trim()}>{is_sending ? 'Signing in…' : 'Sign in'}</button>
            <p class="faint">The browser keeps a cookie that no script can read, not the token.</p>
          </>
        )}
      </form>
    </main>
  );
}
