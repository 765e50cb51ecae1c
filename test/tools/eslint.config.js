import eslint from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

// With --config, ESLint takes the folder it runs in as the base of these patterns: the root of the repository.

// Each file is read through the nearest tsconfig.json: test/ has its own, for mocha's globals.
const types = { projectService: true, tsconfigRootDir: new URL('../..', import.meta.url).pathname };

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', '.data/', '.stryker-tmp/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: types },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // A number in a message or a name is wanted more often than it is a mistake; objects and undefined still are.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `interface` or `type` is the writer's choice: a union needs one, a port reads better as the other.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // `return settle(value)` as the early end of a function that returns nothing is clear enough.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // Brackets say that a name comes from outside and may be absent: `env['PORT']`.
      '@typescript-eslint/dot-notation': 'off',
      // It asks for the `!` that no-non-null-assertion forbids.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // An empty variable of the environment counts as absent: `env['DATA_DIR'] || '.data'`.
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      // An async function without await still turns a throw into a rejection, which its type promises.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-restricted-syntax': [
        'error',
        { selector: "ImportSpecifier[importKind='type']", message: 'Types come by an `import type` of their own.' },
      ],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 300 }],
    },
  },
  {
    // What these print is their answer to the operator; everything else logs through shared/runtime/logger.ts.
    files: ['api/**', 'worker/**', 'shared/**'],
    ignores: ['shared/manage/**', 'shared/standalone/**'],
    rules: { 'no-console': 'error' },
  },
  {
    // A migration is one script from top to bottom, and is never edited after it lands.
    files: ['shared/database/migrations/**'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    files: ['test/**'],
    rules: {
      // A suite's `describe` is one function.
      'max-lines-per-function': 'off',
      // `expect(value).to.be.true` is chai's way to assert.
      '@typescript-eslint/no-unused-expressions': 'off',
      // A test knows what it has put there; a wrong `!` fails it at once.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.cjs', '**/*.mjs'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly', globalThis: 'readonly' } },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { module: 'writable', require: 'readonly' } },
  },
);
