import { depthMax, partsMax } from '../../shared/contract/json-fault.js';
import { queryParametersMax } from '../../shared/contract/read-query.js';

/** What holds for every operation, in Markdown. */
export const introduction = `Raw materials of a shop and their inventory at its locations, over JSON.

Every 200 under \`/v1\` is \`{ data, meta }\`, every error \`{ error: { code, message, details? }, meta }\`. \`meta.requestId\`
is also in the \`X-Request-Id\` header of every answer: quote it to support. Branch on \`error.code\`, never on a message.

**What an error means to a PATCH.** With 4xx, 500 and 503 this attempt is certainly not applied. With 504
(\`OUTCOME_UNKNOWN\`) it is not known yet: send the same request with the same \`Idempotency-Key\` again, and an executed answer
settles it. An answer that never arrives is the same, and so is a 5xx, 503 too, without a \`code\` of ours: a proxy on
the way gave it by itself. Without a key, an id of yours in the \`reference\` of each row shows in the history once the
row is applied; what is not there after eleven minutes, once \`/readyz\` answers 200, never will be.

**Texts** hold neither U+0000 nor half of a surrogate pair, in the known fields of bodies, in queries and in paths. **Quantities and money** are decimals
with six places; more places are rounded half away from zero. A level, and a material's total, lie within ±8,000,000,000.

**A body** is JSON in UTF-8, of at most 1 MiB, ${depthMax} levels and ${partsMax} members and items over all levels, in which no
object has a key twice. **What is not known**: a query parameter is ignored on a GET and refused on a PATCH; a field is ignored
in an update of fields, and refused in a batch and in its rows. A query has at most ${queryParametersMax} parameters, known or not.

**The rate limit** is one budget a shop, shared by all its keys and by the agent surface.`;

export const tags = [
  { name: 'Materials', description: 'Raw materials and their fields.' },
  { name: 'Inventory', description: 'Levels of materials at the locations of the shop.' },
  { name: 'Agents', description: 'The same for AI agents, over the Model Context Protocol.' },
  { name: 'Service', description: 'Health and this reference; for anyone, without a key.' },
] as const;
