import type { ErrorCode } from '../../shared/domain/errors.js';

export const errorExamples: Partial<Record<ErrorCode, unknown>> = {};
