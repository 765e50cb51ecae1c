/**
 * The direction of imports (house.md §1), as `npm run check:imports` enforces it over api, worker, shared and knexfile.ts.
 * Types count: a type-only import is knowledge of the other folder all the same (tsPreCompilationDeps).
 */

const npm = '(^|/)node_modules/';

/** A folder of shared/ and all it may import: itself, the folders named, and npm and Node unless said otherwise. */
function folderImportsOnly(folder, allowed, why) {
  const folders = [folder, ...allowed].map((name) => `^shared/${name}/`);
  return {
    name: `shared-${folder}-direction`,
    comment: why,
    severity: 'error',
    from: { path: `^shared/${folder}/`, pathNot: migrateCommand },
    to: { path: '^(shared|api|worker)/|^knexfile', pathNot: folders },
  };
}

/** `npm run migrate`: a process's entry that stands beside what it runs, so it may read its environment and log. */
const migrateCommand = '^shared/database/migrate\\.ts$';

const npmPackage = (name) => `(^|/)node_modules/${name}(/|$)`;

const betweenRooms = [
  {
    name: 'domain-imports-nothing',
    comment: 'The rules are pure functions from values to values: no npm package, not even a part of Node.',
    severity: 'error',
    from: { path: '^shared/domain/' },
    to: { pathNot: '^shared/domain/' },
  },
  folderImportsOnly('contract', ['domain'], 'The contract is written in terms of the rules and of nothing that runs.'),
  {
    name: 'contract-npm',
    comment: 'The contract is schemas, the types derived from them, and the one Ajv instance. It opens nothing.',
    severity: 'error',
    from: { path: '^shared/contract/' },
    to: { pathNot: ['^(shared|api|worker)/', npmPackage('(ajv|ajv-formats|json-schema-to-ts)')] },
  },
  folderImportsOnly(
    'database',
    ['domain', 'runtime'],
    'Postgres decides; what routes to it (queue, Redis) is none of its business. Its waits are those of the process.',
  ),
  folderImportsOnly('queue', ['domain', 'runtime'], 'The queue only routes: it knows neither the tables nor who asks.'),
  folderImportsOnly('redis', ['domain'], 'The connections, named for their use, know none of their users.'),
  folderImportsOnly('runtime', ['domain'], 'Settings, logger and shutdown serve every process and so know none.'),
  folderImportsOnly(
    'platform',
    ['domain', 'contract', 'runtime'],
    'The adapter checks what it is sent with the one Ajv instance.',
  ),
  folderImportsOnly(
    'inventory',
    ['domain', 'database'],
    'The rules of stock in SQL’s neighbourhood: the worker and the CLI call them alike.',
  ),
  folderImportsOnly(
    'mirror',
    ['domain', 'contract', 'database', 'platform'],
    'Brings the platform’s lists into the tables: the worker and the CLI call it alike.',
  ),
  {
    name: 'shared-new-folder-direction',
    comment: 'A folder without a rule of its own here stands next to the domain and knows no other.',
    severity: 'error',
    from: {
      path: '^shared/([^/]+)/',
      pathNot: '^shared/(domain|contract|database|queue|redis|runtime|platform|inventory|mirror|manage|standalone)/',
    },
    to: { path: '^(shared|api|worker)/|^knexfile', pathNot: ['^shared/$1/', '^shared/domain/'] },
  },
  {
    name: 'api-not-worker',
    comment: 'The two meet in Redis and Postgres only, so that each is deployed and restarted alone.',
    severity: 'error',
    from: { path: '^api/' },
    to: { path: '^worker/' },
  },
  {
    name: 'worker-not-api',
    comment: 'The two meet in Redis and Postgres only, so that each is deployed and restarted alone.',
    severity: 'error',
    from: { path: '^worker/' },
    to: { path: '^api/' },
  },
  {
    name: 'shared-not-processes',
    comment: 'What both share knows neither. `npm start` starts them as child processes, by path.',
    severity: 'error',
    from: { path: '^shared/' },
    to: { path: '^(api|worker)/' },
  },
  {
    name: 'commands-are-entries',
    comment: 'The CLI and the embedded servers stand on top of shared/; nothing that serves a request stands on them.',
    severity: 'error',
    from: { pathNot: '^shared/(manage|standalone)/' },
    to: { path: '^shared/(manage|standalone)/' },
  },
];

const insideApi = [
  {
    name: 'surfaces-through-operations',
    comment: 'REST and MCP call the same operations; reaching past them to dispatch would make two behaviours of one.',
    severity: 'error',
    from: { path: '^api/(rest|agent)/' },
    to: { path: '^api/dispatch/' },
  },
  {
    name: 'surfaces-apart',
    comment: 'REST and MCP share operations, not handlers: neither may depend on how the other speaks.',
    severity: 'error',
    from: { path: '^api/(rest|agent)/' },
    to: { path: '^api/(rest|agent)/', pathNot: '^api/$1/' },
  },
  {
    name: 'operations-know-no-surface',
    comment: 'A use case answers with values; how they look on the wire is for the surfaces.',
    severity: 'error',
    from: { path: '^api/operations/' },
    to: { path: ['^api/(rest|agent|http|reference)/', '^api/app\\.'] },
  },
  {
    name: 'dispatch-knows-no-caller',
    comment: 'rest, agent → operations → dispatch, never back.',
    severity: 'error',
    from: { path: '^api/dispatch/' },
    to: { path: ['^api/(operations|rest|agent|http|reference)/', '^api/app\\.'] },
  },
  {
    name: 'http-only-for-app-and-rest',
    comment: 'The middleware belongs to the stack in app.ts and to the routes; nothing deeper knows it.',
    severity: 'error',
    from: { path: '^api/', pathNot: ['^api/(http|rest)/', '^api/app\\.'] },
    to: { path: '^api/http/' },
  },
  {
    name: 'http-knows-no-route',
    comment: 'A concern of every request knows no single one of them.',
    severity: 'error',
    from: { path: '^api/http/' },
    to: { path: ['^api/(rest|agent|operations|dispatch|reference)/', '^api/app\\.'] },
  },
  {
    name: 'main-is-the-root',
    comment: 'A composition root hands out; it is never imported.',
    severity: 'error',
    from: {},
    to: { path: ['^(api|worker)/main\\.', migrateCommand] },
  },
];

const libraries = [
  {
    name: 'sql-in-database-only',
    comment: 'SQL stands under shared/database; whoever needs rows calls a query module there.',
    severity: 'error',
    from: { pathNot: ['^shared/database/', '^knexfile\\.'] },
    to: { path: npmPackage('(knex|pg|@types/pg)') },
  },
  {
    name: 'bullmq-in-the-queue-only',
    comment: 'BullMQ’s insides are known in one folder; the API and the worker call what that folder makes of them.',
    severity: 'error',
    from: { pathNot: '^shared/queue/' },
    to: { path: npmPackage('bullmq') },
  },
  {
    name: 'koa-in-api-only',
    comment: 'HTTP is the API’s; operations are called by the MCP surface too and so know no Koa.',
    severity: 'error',
    from: { pathNot: '^api/' },
    to: { path: npmPackage('(koa|koa-[^/]+|@koa/[^/]+|@types/koa|@types/koa-[^/]+)') },
  },
  {
    name: 'operations-know-no-koa',
    comment: 'The use cases and the dispatch are called from REST, from MCP and from tests alike.',
    severity: 'error',
    from: { path: '^api/(operations|dispatch)/' },
    to: { path: npmPackage('(koa|koa-[^/]+|@koa/[^/]+|@types/koa|@types/koa-[^/]+)') },
  },
];

const everywhere = [
  {
    name: 'no-cycles',
    comment: 'Two files that need each other are one file, or hide a third.',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'A file that nothing imports and that imports nothing is forgotten.',
    severity: 'error',
    from: { orphan: true, pathNot: '\\.d\\.ts$' },
    to: {},
  },
  {
    name: 'no-tests-in-sources',
    comment: 'What ships is built without test/.',
    severity: 'error',
    from: { path: '^(api|worker|shared)/|^knexfile\\.' },
    to: { path: '^test/' },
  },
  {
    name: 'no-undeclared-packages',
    comment: 'A hoisted package is somebody else’s dependency; a dev dependency is not there in production.',
    severity: 'error',
    from: { path: '^(api|worker|shared)/|^knexfile\\.' },
    to: {
      dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'],
      dependencyTypesNot: ['type-only'],
    },
  },
  {
    name: 'no-unresolvable',
    comment: 'An import that cannot be resolved is checked by none of the rules above.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
];

module.exports = {
  forbidden: [...betweenRooms, ...insideApi, ...libraries, ...everywhere],
  options: {
    doNotFollow: { path: npm },
    exclude: { path: '^dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
