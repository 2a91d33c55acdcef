// The console begins: sign in, then show what the address names.
import { effect, untracked } from '@preact/signals';
import { render } from 'preact';
import { tab_title } from './model/needs.ts';
import { leave_question } from './state/asking.ts';
import { forget_cost } from './state/cost.ts';
import { begin_keys, step_through_list } from './state/keys.ts';
import { begin_measures } from './state/measures.ts';
import { begin_needs, needs_number } from './state/needs.ts';
import { begin_next_focus } from './state/next_focus.ts';
import { begin_notices } from './state/notices.ts';
import { forget_trees } from './state/kept_trees.ts';
import { forget_titles } from './state/titles.ts';
import { follow_links, go, places, steps } from './state/router.ts';
import { begin_session, session_state, visits } from './state/session.ts';
import { close_stop, forget_seen, has_unsent, leave_stops } from './state/stopping.ts';
import { is_help_open, Shell, view_name } from './views/shell.tsx';
import { SignIn } from './views/sign_in.tsx';
import { SomebodyElse } from './views/somebody_else.tsx';

function App() {
  if (session_state.value === 'changed') return <SomebodyElse />;
  return session_state.value === 'in' ? <Shell key={visits.value} /> : <SignIn />;
}

/** Whoever leaves the page while a stop has no answer is asked first: with the page it would be lost. */
function keep_unsent_stops(): void {
  const warn = (event: BeforeUnloadEvent) => event.preventDefault();
  effect(() => (has_unsent.value ? addEventListener('beforeunload', warn) : removeEventListener('beforeunload', warn)));
  effect(() => {
    const why = { out: 'Nobody is signed in.', changed: 'Somebody else is signed in.' }[session_state.value as string];
    if (why) untracked(() => leave_stops(why));
  });
}

/** Nobody sees what somebody else had open. */
function forget_with_the_session(): void {
  effect(() => {
    void [session_state.value, visits.value];
    untracked(() => (forget_trees(), forget_titles(), forget_seen(), forget_cost(), places.clear(), leave_question()));
  });
}

/** What a dialog asks belongs to the view that it was opened in. A stop that is under way goes on beside. */
function close_dialogs_on_the_way(): void {
  effect(() => {
    void steps.value;
    untracked(() => {
      close_stop();
      leave_question();
      is_help_open.value = false;
    });
  });
}

follow_links();
begin_keys({
  '/': () => {
    const to_search = () => document.getElementById('search')?.focus();
    if (document.getElementById('search')) return to_search();
    go('/tree');
    setTimeout(to_search); // it is drawn before
  },
  j: () => step_through_list(1),
  k: () => step_through_list(-1),
  '?': () => (is_help_open.value = true),
  g: () => go('/tree'),
  n: () => go('/'),
});
effect(() => {
  document.title = tab_title(session_state.value === 'in' ? needs_number.value : '', session_state.value === 'in' ? view_name() : '');
});
begin_needs();
begin_measures();
begin_notices();
begin_next_focus();
keep_unsent_stops();
forget_with_the_session();
close_dialogs_on_the_way();
render(<App />, document.getElementById('app')!);
void begin_session();
