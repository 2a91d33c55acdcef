// The console begins: sign in, then show what the address names.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { tab_title } from './model/needs.ts';
import { begin_keys } from './state/keys.ts';
import { begin_needs, needs } from './state/needs.ts';
import { follow_links, go } from './state/router.ts';
import { begin_session, session_state } from './state/session.ts';
import { is_help_open, Shell, view_name } from './views/shell.tsx';
import { SignIn } from './views/sign_in.tsx';

function App() {
  return session_state.value === 'in' ? <Shell /> : <SignIn />;
}

/** A new need is said aloud, if the person has asked for it and looks elsewhere. */
function notify(): void {
  const told = new Set<string>();
  effect(() => {
    for (const need of needs.value) {
      if (told.has(need.key)) continue;
      told.add(need.key);
      if (document.hidden && typeof Notification !== 'undefined' && Notification.permission === 'granted') new Notification(need.title, { body: need.detail, tag: need.key });
    }
  });
}

follow_links();
begin_keys({
  '/': () => document.getElementById('search')?.focus(),
  '?': () => (is_help_open.value = true),
  g: () => go('/tree'),
  n: () => go('/'),
});
effect(() => {
  document.title = tab_title(session_state.value === 'in' ? needs.value.length : 0, session_state.value === 'in' ? view_name() : '');
});
begin_needs();
notify();
render(<App />, document.getElementById('app')!);
void begin_session();
