// Shown in place of all views once another tab has signed in somebody else: what was shown here, and what is sent from here, was another's.
import { identity_words } from '../model/identity.ts';
import { StopsAside } from '../parts/stops_aside.tsx';
import { go_on_as_other, other_session, session } from '../state/session.ts';

export function SomebodyElse() {
  const before = session.value, now = other_session.value;
  if (!before || !now) return null;
  return (
    <main class="sign-in">
      <StopsAside can_show={false} />
      <section class="card" role="alert">
        <h1>Somebody else is signed in</h1>
        <p>Another tab of this browser has signed in as <b>{identity_words(now)}</b>. This page was {identity_words(before)}'s: it shows nothing of that any more, and sends nothing.</p>
        <p class="faint">The tabs of a browser share one session. To use both, open one of them in another browser profile or in a private window.</p>
        <button type="button" class="button primary" onClick={go_on_as_other}>Go on as {now.token}</button>
      </section>
    </main>
  );
}
