// What `quell doctor` says of the cluster, from what the API says: what is well, what is not, and what nobody can promise. Pure.
// Of the machine of the person who asks, of their token's file and of its disk it speaks only where it runs.
import type { McpServer, Status, Worker } from '../api/types.ts';
import { bytes, plain } from './format.ts';

export interface Finding {
  level: 'ok' | 'note' | 'warning' | 'bad';
  what: string;
  text: string;
}

export interface Patient {
  status: Status;
  workers: readonly Worker[];
  mcp: readonly McpServer[];
  not_ready: string; // what /readyz says; '' = ready
  is_encrypted: boolean; // https, or this machine
}

export function diagnosis(of: Patient): Finding[] {
  const all: Finding[] = [];
  const add = (level: Finding['level'], what: string, text: string) => all.push({ level, what, text });
  if (of.not_ready) add('bad', 'controller', of.not_ready);
  else add('ok', 'controller', `version ${of.status.version}, takes orders`);
  if (!of.is_encrypted) add('warning', 'transport', 'the session travels without TLS: use https, or a tunnel');
  if (of.workers.length === 0) add('warning', 'workers', 'none is enrolled: quell worker add NAME');
  for (const worker of of.workers) {
    all.push(finding_of(worker, of.status.version));
    for (const limit of worker.containment_limits) add('note', 'worker', `${worker.name} cannot promise: ${limit}`);
  }
  const { store } = of.status;
  if (store && store.free_bytes !== null) {
    const free = `${bytes(store.free_bytes)} free`;
    if (store.low) add('bad', 'space', `${free}, less than the reserve of ${bytes(store.reserve_bytes)}: starts are refused; free some`);
    else add('ok', 'space', `${free}; starts are refused below ${bytes(store.reserve_bytes)}`);
  }
  for (const chat of of.status.chat_services ?? []) add(chat.working ? 'ok' : 'warning', 'chat', `${chat.name}: ${chat.state}`);
  for (const server of of.mcp) {
    const trouble = server.login?.trouble ?? server.trouble;
    add(trouble ? 'warning' : 'ok', 'MCP server', trouble ? `${server.name}: ${trouble}` : server.name);
  }
  add('note', 'secrets', "tasks of one user id can read each other's environment, their tokens too: give tasks that do not trust each other their own user (`quell run --user NAME`; the worker runs as root and permits it: quell-worker --user NAME)");
  return all;
}

function finding_of(worker: Worker, version: string): Finding {
  const is_behind = worker.knows_controller_key === false;
  const text = `${worker.name}: ${plain(worker.status)}${worker.containment ? `, containment ${worker.containment}` : ''}`
    + (worker.version && worker.version !== version ? `, version ${worker.version} (the controller has ${version})` : '')
    + (worker.trouble ? `; it starts nothing: ${worker.trouble.why}` : '')
    + (worker.rival ? `; another process at ${worker.rival.address} holds its key` : '')
    + (is_behind ? "; it does not know the controller's next key yet (quelld --rotate-key)" : '');
  const is_well = worker.status === 'ready' && !is_behind && !worker.trouble && !worker.rival;
  return { level: is_well ? 'ok' : 'warning', what: 'worker', text };
}
