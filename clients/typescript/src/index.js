// Client of quell for Node and browsers. docs/clients.md shows its use; index.d.ts has the types.
export { Client } from "./client.js";
export { AlreadyTerminal, Cancelled, Conflict, Forbidden, Invalid, NotFound, QuellError, ServerError, TooMany, Unauthenticated, Unreachable } from "./errors.js";
export { Operation } from "./operation.js";
