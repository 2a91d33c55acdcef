// A decision about a paused call, sent once. quelld takes one: the same again, behind an answer that was lost, is answered as the first; another is refused.
import { useState } from 'preact/hooks';
import { post, words_of } from '../api/client.ts';
import { api_path } from '../model/route.ts';
import { use_one_at_a_time } from './once.ts';

export interface Decision {
  /** What became of it, for a person; '' = nothing was pressed, or it failed. */
  note: string;
  trouble: string;
  set_trouble: (words: string) => void;
  /** `during`, `done`: the notes meanwhile and then. */
  decide: (what: 'approve' | 'deny', body: object, during: string, done: string) => Promise<unknown>;
}

export function use_decision(operation: string): Decision {
  const [note, set_note] = useState('');
  const [trouble, set_trouble] = useState('');
  const { once } = use_one_at_a_time();
  const decide = (what: 'approve' | 'deny', body: object, during: string, done: string) => once(async () => {
    set_note(during);
    try {
      await post(api_path('operations', operation, what), body);
      set_note(done);
      set_trouble('');
    } catch (error) {
      set_note('');
      set_trouble(words_of(error));
    }
  });
  return { note, trouble, set_trouble, decide };
}
