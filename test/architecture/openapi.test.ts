import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { agentMethods } from '../../api/http/agent.js';
import { healthPaths } from '../../api/http/public-paths.js';
import { documentPath, openApiDocument } from '../../api/reference/document.js';
import { operations } from '../../api/reference/operations.js';
import { createReference } from '../../api/reference/reference.js';
import { routes } from '../../api/rest/routes.js';
import { statusByCode } from '../../shared/domain/errors.js';
import { document, expectValid } from '../support/http/documented.js';
import { routes as askedRoutes } from '../support/http/routes.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
const lintMsMax = 60_000;

/** Every operation of the document as `METHOD path`. */
const documented = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
);

const routed = routes.flatMap(({ method, path }) =>
  typeof path === 'string' ? [`${method} ${documentPath(path)}`] : [],
);

/** A part of the document, and every object in it. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const member of Object.values(value)) yield* objectsIn(member);
}

describe('the OpenAPI document', () => {
  it('has every route, and nothing that is none', () => {
    const files = [...createReference(routes).keys()].map((path) => path.replace(/^\/docs\/.*/, '/docs/{file}'));
    const publicPaths = [...new Set([...healthPaths, ...files])];
    expect(agentMethods('/mcp')).to.equal('POST');
    const expected = [...routed, 'POST /mcp', ...publicPaths.flatMap((path) => [`GET ${path}`, `HEAD ${path}`])];
    expect(documented.sort()).to.deep.equal(expected.sort());
  });

  it('has no route that the tests of every route leave out', () => {
    expect(askedRoutes.map(({ title }) => title).sort()).to.deep.equal(routed.sort());
  });

  it('describes no route that is gone', () => {
    expect(Object.keys(operations).sort()).to.deep.equal(routed.sort());
  });

  it('is not made where a route is not described', () => {
    const strange = { method: 'GET', path: '/v1/strange', scope: 'read' } as const;
    expect(() => openApiDocument([...routes, strange])).to.throw('GET /v1/strange is not described');
  });

  it('has every error code, under its own status and with an example that is of its schema', () => {
    const shown = new Set<string>();
    for (const [name, response] of Object.entries(document.components.responses)) {
      const json = (response['content'] as Record<string, { schema: object; examples: object }>)['application/json']!;
      for (const [code, { value }] of Object.entries(json.examples) as [
        keyof typeof statusByCode,
        { value: object },
      ][]) {
        expectValid(`${name}, ${code}`, json.schema, value);
        expect(value).to.have.nested.property('error.code', code);
        shown.add(code);
      }
    }
    expect(
      [...shown].sort(),
      'the codes of `errors` in api/reference/operations.ts, against all there are',
    ).to.deep.equal(Object.keys(statusByCode).sort());
    for (const item of Object.values(document.paths)) {
      for (const { responses } of Object.values(item) as { responses: Record<string, { $ref?: string }> }[]) {
        for (const [status, { $ref }] of Object.entries(responses)) {
          // Without a $ref it is no error of the contract's, but a success, or an error of JSON-RPC's own.
          if ($ref === undefined) continue;
          const component = document.components.responses[$ref.split('/').at(-1)!]!;
          const codes = [...(component['description'] as string).matchAll(/`([A-Z_]+)`: /g)].map(([, code]) => code!);
          expect(codes).to.not.be.empty;
          for (const code of codes) expect(statusByCode[code as keyof typeof statusByCode]).to.equal(Number(status));
        }
      }
    }
  });

  it('promises Preference-Applied with no error, since an error shows nothing that was preferred', () => {
    const promising = Object.entries(document.components.responses).filter(
      ([, { headers }]) => 'Preference-Applied' in (headers as object),
    );
    expect(promising.map(([name]) => name)).to.deep.equal([]);
  });

  it('names every schema once, and each reference in it leads somewhere', () => {
    for (const { $ref } of objectsIn(document)) {
      if (typeof $ref !== 'string') continue;
      const target = $ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
      expect(target, $ref).to.be.an('object');
    }
  });

  it('says what scope each route needs, and which paths need no key', () => {
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const scope = method === 'patch' ? 'write' : 'read';
        const expected = /^\/(v1\/|mcp$)/.test(path) ? [{ apiKey: [scope] }] : [];
        expect(operation['security'], `${method} ${path}`).to.deep.equal(expected);
      }
    }
  });

  it('says of each number that it takes 64 bits: usual generators would hold it in 32', () => {
    const numbers = [...objectsIn(document)].filter(({ type }) => [type].flat().includes('number'));
    expect(numbers).to.not.be.empty;
    for (const schema of numbers) expect(schema, JSON.stringify(schema)).to.have.property('format', 'double');
  });

  it('has the larger of two forms of an answer first: who takes the first that fits would drop the rest of it', () => {
    const resolve = (schema: Record<string, unknown>): Record<string, unknown> => {
      const name = (schema['$ref'] as string | undefined)?.split('/').at(-1);
      return name === undefined ? schema : resolve(document.components.schemas[name] as Record<string, unknown>);
    };
    const propertiesOf = (schema: Record<string, unknown>) => Object.keys(schema['properties'] as object);
    /** Those of a material, or of a row of a batch. */
    const namesOf = (form: Record<string, unknown>) => {
      const { results } = resolve(form)['properties'] as { results?: { items: Record<string, unknown> } };
      if (results === undefined) return propertiesOf(resolve(form));
      const { oneOf } = resolve(results.items) as { oneOf: [Record<string, unknown>] };
      return propertiesOf(resolve(oneOf[0]));
    };
    const forms = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => {
        const { content } = (
          operation['responses'] as Record<string, { content?: Record<string, { schema: object }> }>
        )['200']!;
        const data = [...objectsIn(content?.['application/json']?.schema)].find(({ anyOf }) => anyOf !== undefined);
        return data === undefined ? [] : [(data['anyOf'] as Record<string, unknown>[]).map(namesOf)];
      }),
    );
    expect(forms.length).to.be.at.least(2);
    for (const [larger = [], smaller = []] of forms) {
      expect(larger).to.include.members(smaller);
      expect(larger.length).to.be.above(smaller.length);
    }
  });

  it('says of each list in a query that it is repeated, which is how the service reads it', () => {
    const lists = [...objectsIn(document.paths)].filter(
      (part) => part['in'] === 'query' && (part['schema'] as { type?: unknown }).type === 'array',
    );
    expect(lists.map(({ name }) => name)).to.include('vendorFilter');
    for (const list of lists) expect(list, String(list['name'])).to.include({ style: 'form', explode: true });
  });

  it('lets every write have an Idempotency-Key, and demands its body', () => {
    const writes = Object.values(document.paths).flatMap(({ patch }) => (patch === undefined ? [] : [patch]));
    expect(writes).to.have.length(2);
    for (const { operationId, parameters, requestBody } of writes) {
      const refs = (parameters as { $ref?: string }[]).map(({ $ref }) => $ref);
      expect(refs, String(operationId)).to.include('#/components/parameters/idempotencyKey');
      expect(requestBody, String(operationId)).to.include({ required: true });
    }
    expect(document).to.have.nested.property('components.parameters.idempotencyKey.name', 'Idempotency-Key');
  });

  it('says how much a body may hold', () => {
    const { description } = document['info'] as { description: string };
    for (const bound of ['1 MiB', '32 levels', '20000 members and items'])
      expect(description.replaceAll('\n', ' ')).to.contain(bound);
  });

  it('leads to no other host', () => {
    const text = JSON.stringify(document);
    expect(text.match(/https?:\/\/[\w.-]+/g) ?? []).to.deep.equal([]);
    expect(document['servers']).to.have.length(1);
    expect(document).to.have.nested.property('servers[0].url', '.');
  });

  it("is clean by the strict rules of Redocly's linter", async () => {
    const folder = await temporaryFolder();
    try {
      const file = join(folder.path, 'openapi.json');
      await writeFile(file, JSON.stringify(document));
      const cli = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url));
      const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
      const options = { cwd: folder.path, env, timeout: lintMsMax };
      const args = [cli, 'lint', file, '--extends=recommended-strict', '--format=json'];
      // The linter ends with 1 where it finds something, and says what on its output.
      const { stdout } = await run(process.execPath, args, options).catch(
        (error: unknown) => error as { stdout: string },
      );
      const report = JSON.parse(stdout) as { totals: unknown; problems: { message: string; location: unknown }[] };
      expect(report.problems.map(({ message, location }) => ({ message, location }))).to.deep.equal([]);
    } finally {
      await folder.remove();
    }
  });
});
