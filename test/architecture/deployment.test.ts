import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { settings as apiSettings } from '../../api/config.js';
import type { SettingsDeclaration } from '../../shared/runtime/settings.js';
import { settings as workerSettings } from '../../worker/config.js';

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

  it('the image runs without root, on the oldest Node that is promised or a later 20', () => {
    const dockerfile = read('Dockerfile');
    const engines = (JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node;
    const promised = /^>=(\d+)\.(\d+)$/.exec(engines)!.slice(1).map(Number);
    const stages = [...dockerfile.matchAll(/^FROM node:(\d+)\.(\d+)-slim/gm)].map(([, ...version]) =>
      version.map(Number),
    );
    expect(stages.length).to.equal([...dockerfile.matchAll(/^FROM /gm)].length);
    for (const [major, minor] of stages) {
      expect(major).to.equal(promised[0]);
      expect(minor).to.be.at.least(promised[1]!);
    }
    const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(lastStage).to.match(/^USER node$/m);
    expect(lastStage).to.contain('/readyz');
  });

  it('an image is built from what is named, so that no .env or .git gets into a layer', () => {
    const rules = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(rules[0]).to.equal('*');
    expect(
      rules
        .slice(1)
        .filter(
          (rule) => !/^!(package(-lock)?\.json|\.npmrc|tsconfig\.json|knexfile\.ts|api|worker|shared)$/.test(rule),
        ),
    ).to.deep.equal([]);
  });
});
