import type { Knex } from 'knex';
import * as initialSchema from './migrations/0001-initial-schema.js';
import * as platformMirror from './migrations/0002-platform-mirror.js';
import * as listAtScale from './migrations/0003-list-at-scale.js';
import * as ledgerNumbers from './migrations/0004-ledger-numbers.js';
import * as gatherByFacet from './migrations/0005-gather-by-facet.js';
import * as gatherFromIndex from './migrations/0006-gather-from-index.js';
import * as cheaperIdForm from './migrations/0007-cheaper-id-form.js';
import * as deleteEmptyFacets from './migrations/0008-delete-empty-facets.js';
import * as markUsedInOrder from './migrations/0009-mark-used-in-order.js';
import * as facetNumbersAgain from './migrations/0010-facet-numbers-again.js';
import * as facetsBesideShops from './migrations/0011-facets-beside-shops.js';
import * as anyShopMayBeLarge from './migrations/0012-any-shop-may-be-large.js';
import * as keepFacetsInUse from './migrations/0013-keep-facets-in-use.js';
import * as timeOfLastPage from './migrations/0014-time-of-last-page.js';
import * as anyShopMayBeLargeInStock from './migrations/0015-any-shop-may-be-large-in-stock.js';

/**
 * The migrations in their order, named without a file ending: Knex' own folder scan records `.ts` or `.js` names, and
 * then takes the built service and a run from source for two different histories. A migration that has landed is never
 * edited.
 */
const migrations = [
  { name: '0001-initial-schema', ...initialSchema },
  { name: '0002-platform-mirror', ...platformMirror },
  { name: '0003-list-at-scale', ...listAtScale },
  { name: '0004-ledger-numbers', ...ledgerNumbers },
  { name: '0005-gather-by-facet', ...gatherByFacet },
  { name: '0006-gather-from-index', ...gatherFromIndex },
  { name: '0007-cheaper-id-form', ...cheaperIdForm },
  { name: '0008-delete-empty-facets', ...deleteEmptyFacets },
  { name: '0009-mark-used-in-order', ...markUsedInOrder },
  { name: '0010-facet-numbers-again', ...facetNumbersAgain },
  { name: '0011-facets-beside-shops', ...facetsBesideShops },
  { name: '0012-any-shop-may-be-large', ...anyShopMayBeLarge },
  { name: '0013-keep-facets-in-use', ...keepFacetsInUse },
  { name: '0014-time-of-last-page', ...timeOfLastPage },
  { name: '0015-any-shop-may-be-large-in-stock', ...anyShopMayBeLargeInStock },
];

type Migration = (typeof migrations)[number];

export const migrationSource: Knex.MigrationSource<Migration> = {
  getMigrations: () => Promise.resolve(migrations),
  getMigrationName: ({ name }) => name,
  getMigration: (migration) => Promise.resolve(migration),
};
