// Stops whose dialog was closed before quelld had answered them: in every view, and on the page to sign in.
import { target_name } from '../model/command.ts';
import { aside_words } from '../model/unanswered.ts';
import { aside, forget_aside, give_up, show_aside } from '../state/stopping.ts';

/** `can_show`: this page has the dialog. */
export function StopsAside({ can_show }: { can_show: boolean }) {
  return (
    <>
      {aside.value.map((one) => (
        <div key={one.ids[0]} class="lost stop-aside" role="status">
          <span>{aside_words(target_name(one.target), one.phase, one.trouble)}</span>
          <span class="grow" />
          {can_show && <button type="button" class="button" onClick={() => show_aside(one)}>Show the stop</button>}
          {one.phase === 'sent'
            ? <button type="button" class="button" onClick={() => give_up(one)}>Give up</button>
            : <button type="button" class="button" onClick={() => forget_aside(one)}>Seen</button>}
        </div>
      ))}
    </>
  );
}
