import { exitCodes } from './exit-codes.js';

/** A value in a problem is cut at this length, so that a file pasted into a variable does not fill the terminal. */
const shownCharactersMax = 80;

interface Described {
  /** One sentence for the operator; the README's table of variables has it too. */
  readonly description: string;
  /** Whether absence is a problem. If it is none, and there is no default, an absent value is `undefined`. */
  readonly required?: boolean;
  /** Its value is never printed, neither in a problem nor anywhere else. */
  readonly secret?: boolean;
}

interface IntegerSetting extends Described {
  readonly type: 'integer';
  readonly default?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface BooleanSetting extends Described {
  readonly type: 'boolean';
  readonly default?: boolean;
}

interface StringSetting extends Described {
  readonly type: 'string';
  readonly default?: string;
  readonly enum?: readonly string[];
  /**
   * The end of a sentence ("must be a postgres:// address") for a bad value, `undefined` for a good one; tells nothing
   * of a value that is secret.
   */
  readonly check?: (value: string) => string | undefined;
}

type Setting = IntegerSetting | BooleanSetting | StringSetting;

/**
 * What a process reads from its environment, by name: `const settings = { … } as const satisfies SettingsDeclaration`.
 */
export type SettingsDeclaration = Readonly<Record<string, Setting>>;

type ValueOf<S extends Setting> = S extends { readonly enum: readonly (infer Choice)[] }
  ? Choice
  : S extends { readonly type: 'string' }
    ? string
    : S extends { readonly type: 'boolean' }
      ? boolean
      : number;

/** The values of a declaration: `undefined` only where there is neither a default nor `required: true`. */
export type SettingsValues<D extends SettingsDeclaration> = {
  readonly [Name in keyof D]: D[Name] extends { readonly default: unknown } | { readonly required: true }
    ? ValueOf<D[Name]>
    : ValueOf<D[Name]> | undefined;
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads what is declared from an environment; anything else in it is ignored.
 * An empty string counts as absent, since `NAME=` is how compose and .env files spell "not set".
 * Nothing is guessed: `PORT=80x`, ` 80` and `0x50` are problems, and every problem is listed, not just the first.
 */
export function readSettings<const D extends SettingsDeclaration>(
  declared: D,
  env: Environment,
): { ok: true; values: SettingsValues<D> } | { ok: false; problems: string[] } {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(declared)) {
    const text = env[name];
    if (text === undefined || text === '') {
      values[name] = setting.default;
      if (setting.required && setting.default === undefined) {
        problems.push(`${name} is missing, but ${wanted(setting)}. ${setting.description}`);
      }
      continue;
    }
    const parsed = parse(setting, text);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push(`${name} ${shown(setting, text)} ${parsed.wanted}. ${setting.description}`);
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, values: Object.freeze(values) as SettingsValues<D> };
}

/**
 * As `readSettings`, for a process's entry: prints every problem to stderr and exits 78.
 *
 * @param problemsBetween finds contradictions between values that are each valid alone
 * @param alsoSay what the process has to say of it beside stderr
 */
export function settingsOrExit<const D extends SettingsDeclaration>(
  declared: D,
  env: Environment,
  problemsBetween: (values: SettingsValues<D>) => string[] = () => [],
  alsoSay: (problem: string) => void = () => undefined,
): SettingsValues<D> {
  const read = readSettings(declared, env);
  const problems = read.ok ? problemsBetween(read.values) : read.problems;
  if (read.ok && problems.length === 0) return read.values;
  const problem = ['The environment is not usable:', ...problems.map((line) => `  - ${line}`)].join('\n');
  process.stderr.write(`${problem}\n`);
  alsoSay(problem);
  return process.exit(exitCodes.config);
}

/**
 * A check of a string setting: an address of one of these schemes. The text itself must begin with `scheme://`: `URL`
 * passes over blanks and takes `postgres:5432/name`, and the driver then asks a host called "base", or localhost.
 */
export function addressOf(...schemes: readonly string[]): (value: string) => string | undefined {
  return (value) => {
    const scheme = URL.canParse(value) ? /^([a-z]+):\/\//i.exec(value)?.[1] : undefined;
    return scheme !== undefined && schemes.includes(scheme.toLowerCase())
      ? undefined
      : `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  };
}

type Parsed = { ok: true; value: unknown } | { ok: false; wanted: string };

function parse(setting: Setting, text: string): Parsed {
  switch (setting.type) {
    case 'boolean':
      if (text === 'true' || text === 'false') return { ok: true, value: text === 'true' };
      return { ok: false, wanted: wanted(setting) };
    case 'integer':
      return parseInteger(setting, text);
    case 'string': {
      if (setting.enum && !setting.enum.includes(text)) return { ok: false, wanted: wanted(setting) };
      const complaint = setting.check?.(text);
      return complaint === undefined ? { ok: true, value: text } : { ok: false, wanted: complaint };
    }
  }
}

function parseInteger(setting: IntegerSetting, text: string): Parsed {
  const { minimum = -Infinity, maximum = Infinity } = setting;
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return { ok: true, value };
  return { ok: false, wanted: wanted(setting) };
}

function wanted(setting: Setting): string {
  switch (setting.type) {
    case 'boolean':
      return 'must be true or false';
    case 'string':
      return setting.enum ? `must be one of ${setting.enum.join(', ')}` : 'must be set';
    case 'integer': {
      const from = setting.minimum === undefined ? '' : ` from ${setting.minimum}`;
      const to = setting.maximum === undefined ? '' : `${from ? '' : ' up'} to ${setting.maximum}`;
      return `must be a whole number${from}${to}`;
    }
  }
}

function shown(setting: Setting, text: string): string {
  if (setting.secret) return '(its value is not shown)';
  return `is ${JSON.stringify(text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text)}, but`;
}
