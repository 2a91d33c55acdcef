// The turns of a conversation as they are written: a stream of its own, because the feed of all views has no words of answers.
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import { newest_id } from '../api/feed.ts';
import { follow_stream, is_expired } from '../api/stream.ts';
import type { ApiEvent } from '../api/types.ts';
import { apply_turn_event, forget_old_turns, leaves_gap, type LiveTurn } from '../model/conversation.ts';
import { api_path } from '../model/route.ts';

const turn_types = ['turn_start', 'turn_resumed', 'turn_steered', 'text_delta', 'tool_start', 'tool_progress', 'tool_timeout', 'tool_result', 'turn_abort', 'turn_complete', 'message_decided', 'acknowledgement', 'approval_required', 'approval_resolved', 'operation_created', 'model_usage', 'history_compacted'];
const frequent = new Set(['text_delta', 'tool_progress', 'model_usage']);
const reread_ms = 200;

const most_pages = 20; // of a turn that was under way before anybody looked

/** All that a turn has said so far; null: too much to show. */
async function said_so_far(scope: string, turn: string, until: AbortSignal): Promise<ApiEvent[] | null> {
  const all: ApiEvent[] = [];
  let after: string | null = '0';
  for (let pages = 0; pages < most_pages; ++pages) {
    const page: { events: ApiEvent[]; next_cursor: string | null } = await get(`${api_path('operations', turn, 'events')}?types=${turn_types.join(',')}&after=${after}&limit=1000`, until);
    all.push(...page.events.filter((event) => event.scope === scope));
    after = page.next_cursor;
    if (after === null) return all;
  }
  return null;
}

/** `changed`: what is kept is to be read again. `running`: the turn under way, as far as is known. */
export function use_live_turns(scope: string, running: string | null, changed: () => void): ReadonlySignal<ReadonlyMap<string, LiveTurn>> {
  const turns = useSignal<ReadonlyMap<string, LiveTurn>>(new Map());
  const held = useRef<ApiEvent[] | null>(null); // what is heard while the beginning of a turn is read
  const read_to = useRef(new Map<string, number>()); // the last event of each turn whose beginning was read: the stream may bring them, too
  const is_unread = (event: ApiEvent) => event.id === '0' || Number(event.id) > (read_to.current.get(event.root ?? event.operation ?? '') ?? 0);
  const [gaps, set_gaps] = useState(0); // so often words were missing: then the turn is read from its beginning
  const filled = useRef(0);
  const latest = useRef(changed);
  latest.current = changed;
  const apply = (events: readonly ApiEvent[]) => {
    const next = new Map(turns.value);
    for (const event of events) apply_turn_event(next, event);
    forget_old_turns(next);
    for (const id of read_to.current.keys()) if (!next.has(id)) read_to.current.delete(id);
    turns.value = next;
  };
  useEffect(() => {
    turns.value = new Map();
    const stop = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const reread = () => (soon ??= setTimeout(() => ((soon = undefined), latest.current()), reread_ms));
    let last_id = newest_id();
    void follow_stream(stop.signal, {
      path: () => `/v1/events?${new URLSearchParams({ scope, types: turn_types.join(','), ...(last_id ? { after: last_id } : {}) })}`,
      // Also when it is open again: nobody has heard what happened before.
      opened: () => {
        if (last_id === '') set_gaps((n) => n + 1);
        latest.current();
      },
      heard: ({ id, data }) => {
        last_id = id || last_id;
        const event = JSON.parse(data) as ApiEvent;
        if (event.scope !== scope) return;
        if (held.current) held.current.push(event);
        else if (is_unread(event)) {
          if (leaves_gap(turns.value, event)) set_gaps((n) => n + 1);
          apply([event]);
        }
        if (!frequent.has(event.type)) reread();
      },
      lost: (error) => {
        if (!is_expired(error)) return;
        last_id = '';
        turns.value = new Map();
      },
    });
    return () => (stop.abort(), clearTimeout(soon));
  }, [scope]);
  const is_known = running === null || turns.value.has(running);
  useEffect(() => {
    const is_whole = is_known && filled.current === gaps;
    filled.current = gaps;
    if (running === null || is_whole) return;
    const stop = new AbortController();
    held.current = [];
    const end = (before: readonly ApiEvent[]) => {
      const heard = held.current ?? [];
      held.current = null;
      if (before.length > 0) read_to.current.set(running, Number(before.at(-1)!.id));
      apply([...before, ...heard.filter(is_unread)]);
    };
    void said_so_far(scope, running, stop.signal).then((all) => !stop.signal.aborted && end(all ?? []), () => !stop.signal.aborted && end([]));
    return () => (stop.abort(), held.current && end([]));
  }, [scope, running, is_known, gaps]);
  return turns;
}
