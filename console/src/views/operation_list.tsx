// A flat list of operations that match a search, page by page: live ones as they change, ended ones as they are.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Operation } from '../api/types.ts';
import { marked_words, outcome_words } from '../model/outcome.ts';
import { operation_link } from '../model/route.ts';
import { is_terminal } from '../model/tree.ts';
import { Chosen, use_choice } from '../parts/choice.tsx';
import { brief_room, choose_box, operation_columns } from '../parts/columns.tsx';
import { use_kept_rows } from '../parts/kept_rows.ts';
import { use_mark } from '../parts/mark.ts';
import { Dot, Empty, Loading, op_title, Trouble, When } from '../parts/small.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { use_keys } from '../state/keys.ts';
import { LiveList, most_rows, type Found } from '../state/live_list.ts';
import { go } from '../state/router.ts';
import { may } from '../state/session.ts';
import { ask_to_stop } from '../state/stopping.ts';

interface RowProps {
  op: Operation;
  is_focused: boolean;
  is_chosen: boolean;
  choose: (() => void) | null; // null: nothing of this list can be stopped
  place: number; // from 1
  of: number; // how many rows there are; -1 = unknown
  is_past: boolean;
}

const stop_one = (op: Operation) => ask_to_stop({ what: 'operation', id: op.id, title: op.title });

function ListRow({ op, is_focused, is_chosen, choose, place, of, is_past }: RowProps) {
  const title = op_title(op);
  const outcome = outcome_words(op);
  return (
    <div class={`row row-op${is_past ? ' row-past' : ''} is-${op.status}${is_focused ? ' focused' : ''}${is_chosen ? ' chosen' : ''}`} role="listitem" aria-setsize={of} aria-posinset={place} {...(is_focused ? { 'aria-current': 'true' as const } : {})}>
      {choose && choose_box(op, is_chosen, choose)}
      {Dot({ status: op.status })}
      <a class="row-title" href={operation_link(op.id)} title={title}>{title}</a>
      <span class="col scope" title={op.scope}>{op.scope}</span>
      <span class="row-detail" title={outcome}>{outcome}</span>
      <span class="grow" />
      {operation_columns({ op, when: is_past, stop: choose && (() => stop_one(op)) })}
    </div>
  );
}

/** While it is scrolled past: its title, in its place. */
function brief_row(op: Operation, place: number, of: number, is_focused: boolean, can_choose: boolean) {
  return (
    <div key={op.id} class={`row row-op is-${op.status}${is_focused ? ' focused' : ''}`} role="listitem" aria-setsize={of} aria-posinset={place}>
      <span class="indent" style={{ width: `${brief_room(can_choose)}px` }} />
      <a class="row-title" href={operation_link(op.id)}>{op_title(op)}</a>
    </div>
  );
}

/** What is known of the rows that are not there: that they are looked for, how far back nothing was found, or that there are too many. */
function Foot({ found, more }: { found: Found; more: () => void }) {
  const { rows, look, back_to } = found;
  const since = back_to && <> to <When at={back_to} how="clock" /></>;
  if (rows.length >= most_rows) return <span class="faint" role="status">These are the newest {most_rows.toLocaleString('en')}: add a word to the search to see others.</span>;
  if (look === 'on') return <span class="faint" role="status">Searched back{since}, and going on…</span>;
  if (look !== 'limit') return null;
  return <span class="faint" role="status">Searched back{since}; there may be more. <button type="button" class="button quiet" onClick={more}>Look further back</button></span>;
}

interface ListProps {
  text: string;
  which: 'live' | 'ended';
}

function List({ text, which }: ListProps) {
  const list = useMemo(() => new LiveList(text, which), []);
  useEffect(() => () => list.close(), []);
  const { state } = list;
  const more = () => list.more();
  const choice = use_choice();
  const keep = use_kept_rows();
  const { rows, look, trouble } = state.value;
  const last_drawn = useRef(0);
  const fill = () => last_drawn.current >= rows.length - 10 && state.value.look === 'rest' && !state.value.trouble && more();
  useEffect(() => void fill(), [look, rows.length]);
  const mark = use_mark(rows.length, (place) => rows[place]!.id);
  const at = () => rows[mark.place];
  const can_stop = which === 'live' && may.cancel.value;
  use_keys({
    j: () => mark.move(1),
    k: () => mark.move(-1),
    Enter: () => at() && go(operation_link(at()!.id)),
    x: () => at() && can_stop && choice.toggle(at()!.id),
    c: () => {
      const op = at();
      if (!can_stop) return;
      if (choice.ids.value.size) choice.stop();
      else if (op && !is_terminal(op.status)) stop_one(op);
    },
  });
  const problem = <Trouble words={trouble} retry={() => list.retry()} />;
  if (trouble && rows.length === 0) return problem;
  if (rows.length === 0 && look === 'first') return <Loading what="operations" />;
  if (rows.length === 0 && (look !== 'rest' || state.value.cursor)) return <Empty title="Nothing matches so far"><Foot found={state.value} more={more} /></Empty>;
  if (rows.length === 0) return <Empty title="Nothing matches">Take a word out of the search.</Empty>;
  const of = state.value.cursor ? -1 : rows.length;
  const row = (op: Operation, place: number, is_focused: boolean, is_brief: boolean) => {
    if (is_brief) return brief_row(op, place, of, is_focused, can_stop);
    const is_chosen = choice.ids.value.has(op.id);
    return keep(op.id, [op, place, of, is_focused, is_chosen, can_stop], () =>
      <ListRow key={op.id} op={op} place={place} of={of} is_focused={is_focused} is_chosen={is_chosen} is_past={which === 'ended'} choose={can_stop ? () => choice.toggle(op.id) : null} />);
  };
  const marked = at();
  return (
    <>
      <p class="hidden" role="status">{marked && marked_words(marked, mark.place + 1, of)}</p>
      {choice.ids.value.size > 0 && <div class="tree-count"><Chosen choice={choice} /></div>}
      <Virtual
        label={which === 'live' ? 'Live operations' : 'Ended operations'} count={rows.length} row_height={34} focus={mark.place} focus_key={mark.key}
        place={`list ${which} ${text}`} on_range={(_, last) => ((last_drawn.current = last), fill())} has_brief render={(i, is_brief) => row(rows[i]!, i + 1, i === mark.place, is_brief)}
      />
      <Foot found={state.value} more={more} />
      {problem}
    </>
  );
}

/** Another search is another list: its mark, its choice and its pages are its own. */
export function OperationList({ text, which }: ListProps) {
  return <List key={`${which} ${text}`} text={text} which={which} />;
}
