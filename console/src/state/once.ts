// One request at a time for a form or a button, and whether it is under way.
import { useState } from 'preact/hooks';
import { OneAtATime } from '../model/once.ts';

/** A second press is passed over until the request of the first one is over, also before the button is drawn as disabled. */
export function use_one_at_a_time(): { is_busy: boolean; once: (act: () => Promise<unknown>) => Promise<boolean> } {
  const [is_busy, set_busy] = useState(false);
  const [one] = useState(() => new OneAtATime(set_busy));
  return { is_busy, once: (act) => one.run(act) };
}
