import { fail } from '../../shared/domain/errors.js';
import { callerOf } from './request-state.js';
import type { AppMiddleware, Reply } from './request-state.js';

/** REST is for shops on the Enhanced plan (spec §Authentication, rule 3). */
export const requirePlan: AppMiddleware = (ctx, next) => {
  if (callerOf(ctx).shop.plan === 'enhanced') return next();
  ctx.state.reply = planRequired;
  return undefined;
};

const planRequired: Reply = {
  result: fail('PLAN_REQUIRED', 'The REST interface is part of the Enhanced plan, which this shop is not on.'),
};
