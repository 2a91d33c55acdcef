// The turns of a conversation as they are written: a stream of its own, because the feed of all views has no words of answers.
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { newest_id } from '../api/feed.ts';
import { follow_stream, is_expired } from '../api/stream.ts';
import type { ApiEvent } from '../api/types.ts';
import { apply_turn_event, type LiveTurn } from '../model/conversation.ts';

const turn_types = ['turn_start', 'turn_resumed', 'turn_steered', 'text_delta', 'tool_start', 'tool_progress', 'tool_timeout', 'tool_result', 'turn_abort', 'turn_complete', 'message_decided', 'acknowledgement', 'approval_required', 'approval_resolved', 'operation_created', 'model_usage', 'history_compacted'];
const frequent = new Set(['text_delta', 'tool_progress', 'model_usage']);
const reread_ms = 200;

/** `changed`: what is kept is to be read again. */
export function use_live_turns(scope: string, changed: () => void): ReadonlySignal<ReadonlyMap<string, LiveTurn>> {
  const turns = useSignal<ReadonlyMap<string, LiveTurn>>(new Map());
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    turns.value = new Map();
    const stop = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const reread = () => (soon ??= setTimeout(() => ((soon = undefined), latest.current()), reread_ms));
    let last_id = newest_id();
    void follow_stream(stop.signal, {
      path: () => `/v1/events?${new URLSearchParams({ scope, types: turn_types.join(','), ...(last_id ? { after: last_id } : {}) })}`,
      // Also when it is open again: nobody has heard what happened before.
      opened: () => latest.current(),
      heard: ({ id, data }) => {
        last_id = id || last_id;
        const event = JSON.parse(data) as ApiEvent;
        if (event.scope !== scope) return;
        const next = new Map(turns.value);
        apply_turn_event(next, event);
        turns.value = next;
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
  return turns;
}
