import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import type { ErrorCode } from '../../../shared/domain/errors.js';
import type { ShownError } from '../../support/http/reply.js';

/** The two generations of the protocol: with the handshake of 2025, and with an envelope in every request. */
export const generations = ['2025-11-25', '2026-07-28'] as const;
export type Generation = (typeof generations)[number];

/**
 * The official client, connected, for as long as `use` runs. It checks structured content against the tool's schema.
 */
export async function withAgent<T>(
  { baseUrl, key, generation = '2025-11-25' }: { baseUrl: string; key: string; generation?: Generation },
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(
    { name: 'test', version: '1' },
    generation === '2025-11-25' ? {} : { versionNegotiation: { mode: { pin: generation } } },
  );
  await client.connect(transportTo(baseUrl, key));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

export function transportTo(baseUrl: string, key: string): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL('/mcp', baseUrl), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  });
}

/** The data of a call that must succeed: its text says the same as its structured content. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a test knows what it has put there
export async function dataOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<any> {
  const result = await call(client, name, args);
  expect(result.isError, textOf(result)).to.equal(undefined);
  expect(JSON.parse(textOf(result))).to.deep.equal(result.structuredContent);
  return result.structuredContent;
}

/** The error of a call that must fail with this code; there is no structured content beside it. */
export async function errorOf(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  code: ErrorCode,
): Promise<ShownError> {
  const result = await call(client, name, args);
  expect(result.isError, textOf(result)).to.equal(true);
  expect(result.structuredContent).to.equal(undefined);
  const { error, requestId } = JSON.parse(textOf(result)) as { error: ShownError; requestId: string };
  expect(error.code, error.message).to.equal(code);
  expect(requestId).to.equal(result._meta?.['requestId']);
  return error;
}

export async function call(client: Client, name: string, args: Record<string, unknown>): Promise<CallToolResult> {
  return client.callTool({ name, arguments: args });
}

function textOf({ content }: CallToolResult): string {
  const [block, ...others] = content;
  expect(others).to.deep.equal([]);
  return block?.type === 'text' ? block.text : '';
}
