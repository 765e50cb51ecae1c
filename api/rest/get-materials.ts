import { readListQuery } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { listMaterials } from '../operations/list-materials.js';
import type { Services } from '../services.js';
import { pageLinks } from './page-links.js';

/** GET /v1/raw-materials */
export async function getMaterials(services: Services, { caller, query }: RouteRequest): Promise<Reply> {
  const read = readListQuery(query);
  if (!read.ok) return { result: read };
  const result = await listMaterials(services, caller, read.data);
  if (!result.ok) return { result };
  const links = pageLinks(query, result.data);
  return links === undefined ? { result } : { result, headers: { Link: links } };
}
