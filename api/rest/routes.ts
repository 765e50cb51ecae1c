import { jsonType, mergePatchType } from '../http/body/content-type.js';
import type { Route } from '../http/route.js';
import { invalidId } from '../operations/material-refusals.js';
import { getHistory } from './get-history.js';
import { getInventory } from './get-inventory.js';
import { getMaterials } from './get-materials.js';
import { getOneMaterial } from './get-one-material.js';
import { patchInventory } from './patch-inventory.js';
import { patchMaterial } from './patch-material.js';

const list = '/v1/raw-materials';
const material = `${list}/:variantId`;
const inventory = `${material}/inventory`;
const history = `${inventory}/history`;
/** Some encoders escape the colon and leave the slashes. */
const gid = '[gG][iI][dD](?::|%3[aA])';
const rawGlobalId = new RegExp(`^${list}/${gid}[^/]*/.*$`);
/** There is no PATCH of a history, whatever its id. */
const changeableGlobalId = new RegExp(`^${list}/${gid}[^/]*/.*(?<!/inventory/history)$`);

/** A global id whose slashes are not escaped is a bad id, as the escaped form is, and no unknown path (contract §1). */
const refuseRawGlobalId = () => ({ result: invalidId });

const fieldTypes = [jsonType, mergePatchType];

/** Everything under /v1 (contract §1 "Paths"). */
export const routes: readonly Route[] = [
  { method: 'GET', path: list, scope: 'read', handle: getMaterials },
  { method: 'GET', path: material, scope: 'read', handle: getOneMaterial },
  { method: 'PATCH', path: material, scope: 'write', types: fieldTypes, handle: patchMaterial },
  { method: 'GET', path: inventory, scope: 'read', handle: getInventory },
  { method: 'PATCH', path: inventory, scope: 'write', types: [jsonType], handle: patchInventory },
  { method: 'GET', path: history, scope: 'read', handle: getHistory },
  // Last: if all slashes of the id are escaped, the routes above match as well and answer alike.
  { method: 'GET', path: rawGlobalId, scope: 'read', handle: refuseRawGlobalId },
  { method: 'PATCH', path: changeableGlobalId, scope: 'write', types: fieldTypes, handle: refuseRawGlobalId },
];
