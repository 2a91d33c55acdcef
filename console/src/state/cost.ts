// What has been used today, for the first page.
import { effect, signal } from '@preact/signals';
import { get } from '../api/client.ts';
import type { CostPage } from '../api/types.ts';
import { cost_of_today } from '../model/cost.ts';
import { session_state } from './session.ts';

/** null: unknown, or not for this token to see. */
export const cost_today = signal<number | null>(null);

const look_ms = 30_000;

/** Grows when somebody else may sign in: what one may see is not shown to the next. */
let sessions = 0;

export function forget_cost(): void {
  sessions += 1;
  cost_today.value = null;
}

async function look(): Promise<void> {
  if (session_state.value !== 'in' || document.hidden) return;
  const mine = sessions;
  const today = await get<CostPage>('/v1/cost?by=day').then(cost_of_today, () => null); // what is wrong with the server is shown elsewhere
  if (mine === sessions) cost_today.value = today;
}

/** Looks while somebody watches. */
export function watch_cost(): () => void {
  const end = effect(() => {
    if (session_state.value === 'in') void look();
  });
  const timer = setInterval(() => void look(), look_ms);
  return () => {
    clearInterval(timer);
    end();
  };
}
