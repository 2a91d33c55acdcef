// The columns that every row of an operation has, in a tree and in a list: kind, owner, worker, status, age, its id and its stop.
import type { Operation } from '../api/types.ts';
import { plain } from '../model/format.ts';
import { is_terminal } from '../model/tree.ts';
import { may } from '../state/session.ts';
import { Elapsed, Id, op_title, When } from './small.tsx';

export function stop_button(name: string, stop: () => void) {
  if (!may.cancel.value) return null;
  return <button type="button" class="stop" tabIndex={-1} aria-label={`Stop ${name}`} title={`Stop ${name}`} onClick={stop}>Stop</button>;
}

export function choose_box(op: Operation, is_chosen: boolean, choose: () => void) {
  return <input type="checkbox" tabIndex={-1} class="choose" aria-label={`Choose ${op_title(op)}`} checked={is_chosen} onChange={choose} />;
}

/** So wide is in a row of an operation what stands before its title: the box and the dot. In a tree the twist takes 32 more. */
export function brief_room(can_choose: boolean): number {
  return can_choose ? 33 : 8;
}

/** `when`: the time of its end, or its beginning, has a column. `stop`: null where nothing lives. */
export function operation_columns({ op, when = false, stop }: { op: Operation; when?: boolean; stop: (() => void) | null }) {
  return (
    <>
      <span class="col kind">{plain(op.kind)}</span>
      <span class="col owner" title={op.owner.id}>{op.owner.name || op.owner.id}</span>
      <span class="col worker">{op.worker ?? ''}</span>
      <span class="col status">{plain(op.status)}</span>
      <span class="col age"><Elapsed op={op} /></span>
      {when && <span class="col when"><When at={op.ended_at ?? op.created_at} /></span>}
      <span class="col short">{Id({ id: op.id })}</span>
      {stop && (is_terminal(op.status) ? <span class="stop-room" /> : stop_button(op_title(op), stop))}
    </>
  );
}
