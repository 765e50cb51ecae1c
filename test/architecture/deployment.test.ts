import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { apiSettings } from '../../api/config.js';
import { heapArguments } from '../../shared/runtime/heap.js';
import type { SettingsDeclaration } from '../../shared/runtime/settings.js';
import { workerSettings } from '../../worker/config.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const compose = read('docker-compose.yml');
const example = read('.env.example');

const declaredBy: Record<string, SettingsDeclaration> = { api: apiSettings, worker: workerSettings };
const declared: SettingsDeclaration = { ...workerSettings, ...apiSettings };

/** The lines of a block of compose, found by its key and ended by the indentation: this file needs no more of YAML. */
function block(text: string, key: string, indent: number): string {
  const lines = text.split('\n');
  const start = lines.indexOf(`${' '.repeat(indent)}${key}:`);
  expect(start, `the block ${key} of docker-compose.yml`).to.be.at.least(0);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && line.search(/\S/) <= indent);
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
}

/** The variables that compose hands to a service, with their text. */
function environmentOf(service: string): Map<string, string> {
  const text = block(block(block(compose, 'services', 0), service, 2), 'environment', 4);
  return new Map([...text.matchAll(/^ {6}([A-Z_]+): (.*)$/gm)].map(([, name, value]) => [name!, value!]));
}

const serviceNames = [...block(compose, 'services', 0).matchAll(/^ {2}(\w+):$/gm)].map(([, name]) => name!);

/** The variables that compose takes from .env, each with how it is written: `:?message`, `:-default` or nothing. */
const interpolated = [...compose.matchAll(/\$\{([A-Z_]+)(:[?-][^}]*)?\}/g)].map(([, name, how]) => ({
  name: name!,
  how: how ?? '',
}));

const exampleVariables = [...example.matchAll(/(.*)\n([A-Z_]+)=(.*)/g)].map(([, above, name, value]) => ({
  name: name!,
  value: value!,
  above: above!,
}));

interface Stage {
  name: string | undefined;
  text: string;
  /** What each COPY takes, without where it goes. */
  copied: string[];
}

function dockerfileStages(): Stage[] {
  const texts = read('Dockerfile').split(/^(?=FROM )/m);
  return texts.slice(1).map((text) => ({
    name: /^FROM \S+ AS (\S+)$/m.exec(text)?.[1],
    text: text.replaceAll(/^#.*\n/gm, ''),
    copied: [...text.matchAll(/^COPY (.*) \S+$/gm)].map(([, sources]) => sources!),
  }));
}

describe('deployment', () => {
  for (const service of ['api', 'worker']) {
    it(`compose hands the ${service} only variables that it reads, and all that it cannot do without`, () => {
      const given = [...environmentOf(service).keys()];
      const settings = declaredBy[service]!;
      const required = Object.keys(settings).filter((name) => settings[name]!.required);
      expect(Object.keys(settings)).to.include.members(given);
      expect(given).to.include.members(required);
    });
  }

  it('every command of compose and of the image starts a process that has its source here', () => {
    const commands = [...`${compose}\n${read('Dockerfile')}`.matchAll(/dist\/([\w/-]+)\.js/g)].map(([, path]) => path!);
    expect(commands).to.include.members(['api/main', 'worker/main', 'shared/database/migrate']);
    for (const path of commands) expect(existsSync(new URL(`${path}.ts`, root)), `${path}.ts`).to.equal(true);
  });

  it('compose turns off what Postgres has on by default and no figure of ours was measured with: JIT', () => {
    expect(block(block(compose, 'services', 0), 'postgres', 2)).to.match(/^ {4}command: \[postgres, -c, jit=off\]$/m);
  });

  it('.env.example names every variable that compose takes, and no other than those and the processes’ own', () => {
    const names = exampleVariables.map(({ name }) => name);
    const taken = interpolated.map(({ name }) => name);
    expect(names).to.include.members(taken);
    expect([...taken, ...Object.keys(declared)]).to.include.members(names);
    expect(new Set(names).size).to.equal(names.length);
  });

  it('every variable of .env.example has a comment above it', () => {
    expect(exampleVariables.filter(({ above }) => !/^# \S/.test(above)).map(({ name }) => name)).to.deep.equal([]);
  });

  it('no password or key has a default, neither in compose nor in .env.example', () => {
    const isSecret = (name: string) => declared[name]?.secret === true || /PASSWORD|SECRET|TOKEN/.test(name);
    const secrets = interpolated.filter(({ name }) => isSecret(name));
    expect(secrets.map(({ name }) => name)).to.include.members(['POSTGRES_PASSWORD', 'REDIS_PASSWORD']);
    expect(secrets.filter(({ how }) => !how.startsWith(':?'))).to.deep.equal([]);
    expect(exampleVariables.filter(({ name, value }) => isSecret(name) && value !== '')).to.deep.equal([]);
  });

  it('what .env.example proposes are the defaults of the settings', () => {
    const proposed = exampleVariables.filter(({ name, value }) => declared[name] !== undefined && value !== '');
    expect(proposed).to.have.length.greaterThan(0);
    for (const { name, value } of proposed) expect(value, name).to.equal(String(declared[name]!.default));
  });

  it('every process has its metrics inside of the network, and the admin port is published nowhere', () => {
    for (const service of ['api', 'worker']) {
      const given = environmentOf(service);
      expect(given.get('ADMIN_HOST'), service).to.equal('0.0.0.0');
      expect(given.get('ADMIN_PORT'), service).to.match(/^\d+$/);
    }
    const published = [...compose.matchAll(/^ +- (\S+):(\d+)$/gm)].map(([, , inside]) => inside);
    expect(published).to.deep.equal([environmentOf('api').get('PORT')]);
  });

  it('the queue keeps what it has taken: appended to a file, and nothing evicted', () => {
    const valkey = block(compose, 'valkey', 2).replaceAll(/\s*#.*/g, '');
    expect(valkey).to.match(/- --appendonly\s+- 'yes'/);
    expect(valkey).to.match(/- --maxmemory-policy\s+- noeviction/);
  });

  it('the image runs without root, on one Node with long-term support of those that are promised', () => {
    const dockerfile = read('Dockerfile');
    const engines = (JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node;
    const promised = /^>=(\d+)\.(\d+)$/.exec(engines)!.slice(1).map(Number);
    const stages = [...dockerfile.matchAll(/^FROM node:(\d+)\.(\d+)-slim/gm)].map(([, ...version]) =>
      version.map(Number),
    );
    const named = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name);
    const others = [...dockerfile.matchAll(/^FROM (?!node:)(\S+)/gm)].map(([, from]) => from);
    expect(named).to.include.members(others);
    const [major = 0, minor = 0] = stages[0]!;
    expect(major * 1_000 + minor).to.be.at.least(promised[0]! * 1_000 + promised[1]!);
    expect(major % 2, 'an even line is supported for long').to.equal(0);
    for (const stage of stages) expect(stage).to.deep.equal([major, minor]);
    const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(lastStage).to.match(/^USER node$/m);
    expect(lastStage).to.contain('/readyz');
  });

  it('the image and the scripts start a process with the same bounds of its heap as the tests do', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const kind of ['api', 'worker']) {
      // exec: npm hands a SIGTERM to the shell that it starts a script in, and the shell would keep it to itself.
      expect(scripts[kind]).to.equal(['exec', 'node', ...heapArguments, `dist/${kind}/main.js`].join(' '));
    }
    expect(dockerfileStages().at(-1)!.text).to.contain(`NODE_OPTIONS=${heapArguments.join(' ')}\n`);
  });

  it('what production runs in has only the build and the packages of production, and nothing of the load harness', () => {
    const stages = dockerfileStages();
    const last = stages.at(-1)!;
    expect(last.copied).to.have.members([
      'package.json',
      '--from=production-dependencies /app/node_modules',
      '--from=build /app/dist',
    ]);
    expect(stages.find(({ name }) => name === 'production-dependencies')?.text).to.contain('npm ci --omit=dev');
    expect(stages.find(({ name }) => name === 'build')?.text).to.not.contain('test');
  });

  it('every folder and file that an image copies from here is there, and let through to the build', () => {
    const rules = read('.dockerignore').split('\n');
    const sources = dockerfileStages().flatMap(({ copied }) => copied.filter((source) => !source.startsWith('--from')));
    for (const source of sources.flatMap((text) => text.split(' '))) {
      expect(existsSync(new URL(source, root)), source).to.equal(true);
      expect(rules, source).to.include(`!${source}`);
    }
  });

  it('the load harness starts only when it is asked for, from an image of its own, with its key from .env', () => {
    const load = block(block(compose, 'services', 0), 'load', 2);
    expect(load)
      .to.match(/^ {4}profiles: \[load\]$/m)
      .and.match(/^ {6}target: load$/m);
    const entry = /entrypoint: \[(.*?), --url,/.exec(load)?.[1]?.split(', ');
    const stage = dockerfileStages().find(({ name }) => name === 'load');
    expect(stage?.text).to.contain(`ENTRYPOINT ${JSON.stringify(entry).replaceAll(',', ', ')}`);
    expect(stage?.text).to.match(/^USER node$/m);
    expect(environmentOf('load').get('LOAD_KEY')).to.equal('${LOAD_KEY:-}');
    // The tmpfs that compose mounts is root's, and takes over the mode of what it covers.
    expect(load).to.match(/^ {6}- \/app\/dist\/test$/m);
    expect(stage?.text).to.contain('chmod 1777 dist/test');
  });

  it('the worker is asked for its health at its admin port', () => {
    const worker = block(block(compose, 'services', 0), 'worker', 2);
    expect(worker).to.contain(`http://127.0.0.1:${environmentOf('worker').get('ADMIN_PORT')!}/healthz`);
    expect(worker).to.not.contain('disable: true');
  });

  it('a process is given more time to end than it takes at most', () => {
    const boundOfWorkerMs = 8_000;
    for (const [name, boundMs] of [
      ['api', apiSettings.SHUTDOWN_TIMEOUT_MS.default],
      ['worker', boundOfWorkerMs],
    ] as const) {
      const [, seconds] = /^ {4}stop_grace_period: (\d+)s$/m.exec(block(block(compose, 'services', 0), name, 2)) ?? [];
      expect(Number(seconds) * 1_000, name).to.be.above(boundMs);
    }
  });

  it('each image is built by one service, and fetched by none', () => {
    const services = block(compose, 'services', 0);
    const builders = serviceNames.filter((name) => /^ {4}build:/m.test(block(services, name, 2)));
    expect(builders).to.deep.equal(['api', 'load']);
    const common = compose.slice(compose.indexOf('\nx-process:'), compose.indexOf('\nservices:'));
    expect(common)
      .to.match(/^ {2}pull_policy: never$/m)
      .and.not.match(/^ {2}build:/m);
  });

  it('the API is stopped before the workers, whom what it has accepted still needs', () => {
    const dependencies = block(block(block(compose, 'services', 0), 'api', 2), 'depends_on', 4);
    expect(dependencies).to.match(/^ {6}worker:\n {8}condition: service_started$/m);
  });

  it('every service has a bound on its memory, and logs that are rotated', () => {
    const services = block(compose, 'services', 0);
    expect(serviceNames).to.include.members(['postgres', 'valkey', 'migrate', 'api', 'worker', 'load']);
    for (const name of serviceNames) {
      const service = block(services, name, 2);
      expect(service, name).to.match(/^ {8}limits:\n {10}memory: \d+[mg]$/m);
      expect(service, name).to.match(/^ {4}(logging: \*rotated|<<: \*process)$/m);
    }
    expect(compose).to.match(/^ {2}logging: \*rotated$/m);
  });

  it('an image is built from what is named, so that no .env or .git gets into a layer', () => {
    const rules = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    // The last rule that matches decides, so what is to stay out of the folders that are let in comes after them.
    expect([rules[0], ...rules.slice(-2)]).to.deep.equal(['*', '**/.env*', '**/node_modules']);
    const letIn =
      /^!(package(-lock)?\.json|\.npmrc|tsconfig\.json|knexfile\.ts|api|worker|shared|test\/(load|bench|support))$/;
    expect(rules.slice(1, -2).filter((rule) => !letIn.test(rule))).to.deep.equal([]);
  });
});
