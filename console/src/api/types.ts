// Short names for the shapes of the API (schema.d.ts is generated from openapi.json).
import type { components } from './schema.d.ts';

type Schemas = components['schemas'];
export type Operation = Schemas['Operation'];
export type Cancel = Schemas['Cancel'];
export type Report = Schemas['Report'];
export type Unproven = Schemas['Unproven'];
export type Worker = Schemas['Worker'];
export type ScopeView = Schemas['ScopeView'];
export type TreePage = Schemas['TreePage'];
export type Session = Schemas['Session'];
export type Token = Schemas['Token'];
export type Status = Schemas['Status'];
export type Problem = Schemas['Problem'];
export type ApprovalRule = Schemas['ApprovalRule'];
export type Message = Schemas['Message'];
export type MessageDecision = Schemas['MessageDecision'];
export type McpServer = Schemas['McpServer'];
export type AuditEntry = Schemas['AuditEntry'];
export type CostPage = Schemas['CostPage'];
export type CostSums = Schemas['CostSums'];
export type ModelUsage = Schemas['ModelUsage'];
export type Question = NonNullable<NonNullable<Operation['tool']>['question']>;
export type ApiEvent = Omit<Schemas['Event'], 'data'> & { data: unknown };
export type OperationStatus = Operation['status'];
export type Role = Session['role'];

/** An operation in a preview of a stop. */
export interface WouldStop {
  id: string;
  kind: Operation['kind'];
  title: string;
  scope: string;
  worker: string | null;
  status: OperationStatus;
  owner: { id: string; name?: string };
}

export type HistoryChanged = Schemas['HistoryChanged'];
/** A row that stands for older ones. */
export type Summary = NonNullable<Message['summary']>;
