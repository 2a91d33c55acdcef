// The frame of every view: navigation, the state of the connection, help on keys, and the stop dialog.
import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { connection } from '../api/feed.ts';
import { last_sign_of_life } from '../api/sign_of_life.ts';
import { clock_offset } from '../api/server_clock.ts';
import { silence_age, silence_words } from '../model/silence.ts';
import { use_scroll_place } from '../parts/scroll_place.ts';
import { AskDialog } from '../parts/ask_dialog.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { use_modal } from '../parts/modal.ts';
import { saved_views } from '../parts/search_box.tsx';
import { Empty } from '../parts/small.tsx';
import { StopDialog } from '../parts/stop_dialog.tsx';
import { StopsAside } from '../parts/stops_aside.tsx';
import { now } from '../state/clock.ts';
import { needs_number } from '../state/needs.ts';
import { address, route } from '../state/router.ts';
import { is_signing_out, may, session, sign_in_trouble, sign_out, sign_out_trouble } from '../state/session.ts';
import { AuditView } from './audit.tsx';
import { CancelsView, CancelView } from './cancels.tsx';
import { ClusterView } from './cluster.tsx';
import { ConversationView } from './conversation.tsx';
import { CostView } from './cost.tsx';
import { EndedView } from './ended.tsx';
import { Home } from './home.tsx';
import { OperationView } from './operation.tsx';
import { TokensView } from './tokens.tsx';
import { TreeView } from './tree.tsx';
import { WorkersView } from './workers.tsx';

export const is_help_open = signal(false);
const is_menu_open = signal(false);

const links: { to: string; name: string; icon: IconName; views: string[]; may?: { value: boolean } }[] = [
  { to: '/', name: 'Needs me', icon: 'home', views: ['home'] },
  { to: '/tree', name: 'Live', icon: 'tree', views: ['tree', 'operation'] },
  { to: '/cancels', name: 'Stops', icon: 'stop', views: ['cancels', 'cancel'] },
  { to: '/ended', name: 'Ended', icon: 'ended', views: ['ended'] },
  { to: '/conversation', name: 'Conversations', icon: 'chat', views: ['conversation'] },
  { to: '/workers', name: 'Workers', icon: 'workers', views: ['workers'] },
  { to: '/cluster', name: 'Cluster', icon: 'cluster', views: ['cluster'] },
  { to: '/cost', name: 'Cost', icon: 'cost', views: ['cost'] },
  { to: '/audit', name: 'Audit', icon: 'audit', views: ['audit'], may: may.run_cluster },
  { to: '/tokens', name: 'Tokens', icon: 'tokens', views: ['tokens'], may: may.administer },
];

function Navigation() {
  const { view } = route.value;
  const many = needs_number.value;
  const who = session.value!;
  return (
    <nav class={is_menu_open.value ? 'nav open' : 'nav'} aria-label="Views" onClick={(e) => (e.target as Element).closest('a') && (is_menu_open.value = false)}>
      <a class="brand" href="/"><img src="/icon.svg" alt="" width="22" height="22" /> quell</a>
      <ul>
        {links.filter((l) => l.may?.value ?? true).map((l) => (
          <li key={l.to}>
            <a href={l.to} {...(l.views.includes(view) ? { 'aria-current': 'page' as const } : {})}><Icon name={l.icon} />{l.name}{l.to === '/' && many !== '' && <b class="count num">{many}</b>}</a>
          </li>
        ))}
      </ul>
      {saved_views.value.length > 0 && (
        <>
          <h2>Saved</h2>
          <ul>{saved_views.value.map((v) => <li key={v.to}><a href={v.to} {...(address.value === v.to ? { 'aria-current': 'page' as const } : {})}>{v.name}</a></li>)}</ul>
        </>
      )}
      <span class="grow" />
      <button type="button" class="key-hint" onClick={() => (is_help_open.value = true)}>Keys <kbd>?</kbd></button>
      <div class="who">
        <div><b>{who.token}</b><span class="faint">{who.role}{who.scope ? ` · ${who.scope}` : ''}</span></div>
        <button type="button" class="button quiet" aria-label="Sign out" title="Sign out" disabled={is_signing_out.value} onClick={() => void sign_out()}><Icon name="out" /></button>
      </div>
    </nav>
  );
}

function ConnectionBar() {
  const { state, since } = connection.value;
  if (state !== 'lost') return null;
  const heard_at = last_sign_of_life.value;
  const words = silence_words(since, heard_at === 0 ? 0 : heard_at + clock_offset.value, now.value);
  // What changes every second is not read aloud.
  return <div class="lost" role="status">{words} <span class="num" aria-hidden="true">({silence_age(since, now.value)})</span></div>;
}

function NotSignedOut() {
  if (!sign_out_trouble.value) return null;
  return (
    <div class="lost not-signed-out" role="alert">
      <span>{sign_out_trouble.value}</span>
      <span class="grow" />
      <button type="button" class="button" onClick={() => void sign_out()}>Sign out again</button>
      <button type="button" class="button" onClick={() => (sign_out_trouble.value = '')}>Stay signed in</button>
    </div>
  );
}

/** A link that was opened in this page and did not sign in: it goes on with whoever was signed in. */
function NotSignedIn() {
  if (!sign_in_trouble.value) return null;
  return (
    <div class="lost not-signed-out" role="alert">
      <span>Still signed in as {session.value!.token}: the link did not sign in. {sign_in_trouble.value}</span>
      <span class="grow" />
      <button type="button" class="button" onClick={() => (sign_in_trouble.value = '')}>Seen</button>
    </div>
  );
}

const keys: [string, string][] = [
  ['/', 'Search'], ['j k', 'Down and up'], ['h l', 'Close and open a branch'], ['Enter', 'Open'], ['x', 'Choose, to stop several'], ['c', 'Stop what is marked; Enter confirms'],
  ['g', 'Live tree'], ['n', 'Needs me'], ['Esc', 'Leave a field or dialog'], ['?', 'This'],
];

function Help() {
  const box = useRef<HTMLDialogElement>(null);
  use_modal(box);
  return (
    <dialog ref={box} class="dialog" aria-labelledby="help-title" onClose={() => (is_help_open.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl class="fields">{keys.filter(([key]) => may.cancel.value || (key !== 'x' && key !== 'c')).map(([key, words]) => <div key={key} class="field"><dt>{key.split(' ').map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{words}</dd></div>)}</dl>
      <div class="dialog-foot"><span class="grow" /><button type="button" class="button" onClick={() => box.current?.close()}>Close</button></div>
    </dialog>
  );
}

function View() {
  const { view, id } = route.value;
  switch (view) {
    case 'home':
      return <Home />;
    case 'tree':
      return <TreeView />;
    case 'operation':
      return <OperationView key={id} id={id} />;
    case 'cancels':
      return <CancelsView />;
    case 'cancel':
      return <CancelView key={id} id={id} />;
    case 'ended':
      return <EndedView />;
    case 'conversation':
      return <ConversationView />;
    case 'workers':
      return <WorkersView />;
    case 'cluster':
      return <ClusterView />;
    case 'cost':
      return <CostView />;
    case 'audit':
      return may.run_cluster.value ? <AuditView /> : <NotForYou />;
    case 'tokens':
      return may.administer.value ? <TokensView /> : <NotForYou />;
    case 'unknown':
      return <Empty title="There is no such view">The navigation lists those that there are.</Empty>;
  }
}

function NotForYou() {
  return <Empty title="Not with this token">Sign in with an admin's token to see this.</Empty>;
}

export function view_name(): string {
  return links.find((l) => l.views.includes(route.value.view))?.name ?? '';
}

function Main() {
  const box = useRef<HTMLElement>(null);
  use_scroll_place(box);
  return <main ref={box} id="main" tabIndex={0}><View /></main>;
}

export function Shell() {
  return (
    <>
      <a class="skip" href="#main">Skip to the view</a>
      <div class="shell">
        <button type="button" class="menu" aria-label="Navigation" aria-expanded={is_menu_open.value} onClick={() => (is_menu_open.value = !is_menu_open.value)}><Icon name="menu" /></button>
        <Navigation />
        <div class="stage">
          <ConnectionBar />
          <NotSignedOut />
          <NotSignedIn />
          <StopsAside can_show />
          <Main />
        </div>
      </div>
      <StopDialog />
      <AskDialog />
      {is_help_open.value && <Help />}
    </>
  );
}
